"""MLflow as a sink of the record: one run a study, one nested run a trial. Nothing here imports it before it is needed.

A store may fail at any time, and may have any part of a study already. So events are folded into what the store should
hold, and what it lacks of that is sent, as often as it takes.

uri         which store is in force            store       opening it, once for all processes
names       what MLflow accepts as a name      rows        parameters, metrics and tags of a trial
metrics     its figures, by stage              points      its trainings' curves, by epoch and seed
summary     the same of the whole study        dataset     what was trained on
wanted      events into runs as they should be values      batches without what is refused
runs        bringing one run to what it should be          artifacts   the parent's files
study_log   finding a study's runs, and bringing all of them
experiment  its description and its views      saved_views which runs, columns and charts these show
pages       addresses in MLflow's UI           last_study  the study that began last, without MLflow
sink        the thread beside the study        later       sending a study from its record
register    the model, inside the worker       promote     moving the production alias, explicitly
evidence    what a version is tagged with      version     the same as a text
warmup      importing MLflow beside TensorFlow
"""
