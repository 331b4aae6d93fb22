"""Programs on OpenCL devices, by pyopencl: found when a pyopencl array comes in, never imported before."""
