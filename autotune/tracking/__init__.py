"""MLflow as a sink of the record: one run a study, one nested run a trial. Nothing here imports it before it is needed.

uri         which store is in force            store       opening it, once for all processes
names       what MLflow accepts as a name      rows        parameters, metrics and tags of a trial
summary     the same of the whole study        runs        writing them through MLflow's client
study_log   events into runs                   sink        the thread between the study and the store
register    the model, inside the worker       promote     moving the production alias, explicitly
"""
