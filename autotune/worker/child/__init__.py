"""What runs inside the worker process: the only rooms that know Keras and TensorFlow."""
