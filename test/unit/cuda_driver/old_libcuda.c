/* A libcuda that lacks nearly all: older than any that the driver can use. */
__attribute__((visibility("default"))) int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
