"""A study as files for a person: the table, the summary and the plot of speed against accuracy.

measure    the constraint's metric: unit, better direction      objective  what was made as good as possible
figures    what a trial showed, by the stage that measured it   phrases    texts of intervals, settings, places
blocks     what stands behind a speed: pairs, disturbances      training   health in 16 bit, time to accuracy
reached    the objective's own quantity, beside float32's       quoted     what a confirmation showed, in words
answer     what to use and why, in a few rows                   method     how it was measured, in a few lines
pareto     the front                                            tradeoff   the plot's content, without a library
curves     learning curves                              gained     where the speedup comes from
tables     the tables that page and summary share       reproduce  what another machine needs to do it again
unfinished what is missing of a study that did not end  explained  explain.json, explain.md
table      trials.csv      summary, markdown   summary.md       page       report.html     picture   tradeoff.png
write      all of them into a folder
"""
