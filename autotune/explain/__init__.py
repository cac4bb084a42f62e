"""Why a model is as fast as it is, and what would change it: judged from a worker's facts and a hardware profile.

Pure: nothing here runs a model or imports a framework.

tiles      how a matrix product falls into tiles and waves      costs      what each layer costs
forecast   predicted steps, with their error bands              findings/  what is wrong, with evidence and a fix
advice     what would gain most                                 situation  one model on one target

After a study, from its record alone:
why        one line a trial, of clauses from causes             ablation   what the winner's speedup is made of
roofline   what steps reached of the device's rates             studied    the findings of the studied model
settings   trials compared one setting at a time                recorded   configuration, device and target again
"""
