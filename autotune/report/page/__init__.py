"""`report.html`: one file that a person reads in two minutes, without a network.

document   the whole page        markup     escaped HTML            plots      a plot, its summary, its table
answer     the answer, warnings, where the speedup comes from       tradeoff   speed against accuracy
curves     learning curves       roofline   the device's limits     trials     every trial, sortable
method     findings, how it was measured, how to reproduce it, predictions, what was left out
report.css, report.js            its style and its behaviour
"""
