"""The child process that imports the ML framework, and the parent's side of it.

`process` and `executor` are the parent's and stay light; everything in `child` runs in the worker and may import Keras.
The worker returns numbers and never judges them.
"""
