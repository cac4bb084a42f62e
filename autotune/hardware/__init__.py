"""What the hardware is and can do: profiles, detection, policies, predictions. No framework here.

- `profile`: a description as a value; `catalogue`: the bundled ones.
- `nvml`: NVIDIA GPUs as the driver reports them; `visible`: which of them CUDA would show.
- `host`: CPU and memory; `cgroup`: a container's limits; `onednn`: TensorFlow's CPU kernels.
- `device`: what is really here; `match`: which bundled profile that is; whether it is the target.
- `policies`: precisions worth trying, and why; `roofline`: predictions from published peaks.
"""
