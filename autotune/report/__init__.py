"""A study as files for a person: the table, the summary and the plot of speed against accuracy.

measure    the constraint's metric: its unit, its better direction      phrases    texts of intervals, settings, places
figures    what a trial showed, by the stage that measured it           answer     what to use and why, in a few rows
pareto     the front                                                    tradeoff   the plot's content, without a library
table      trials.csv      summary   summary.md      page   tradeoff.html      picture   tradeoff.png
write      all of them into a folder
"""
