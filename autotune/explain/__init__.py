"""Why a model is as fast as it is, and what would change it: judged from a worker's facts and a hardware profile.

Pure: nothing here runs a model or imports a framework.

tiles      how a matrix product falls into tiles and waves      costs      what each layer costs
forecast   predicted steps, with their error bands              findings/  what is wrong, with evidence and a fix
advice     what would gain most                                 write      explain.json and explain.md
"""
