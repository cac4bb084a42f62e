/* A stand-in for libnvidia-ml.so.1 with just what the detection asks, for the true pynvml to load.
 *
 * FAKE_NVML_SCENARIO, words separated by commas:
 *   no_driver      initialisation fails
 *   one            one GPU (an RTX 2060) instead of two (an RTX 2080 Ti, then an RTX 2060)
 *   three          another RTX 2060 beside those two
 *   bad_name       GPU 0's name is not UTF-8
 *   unsupported    GPU 1 tells neither power nor energy
 *   no_permission  memory, clocks and processes may not be read
 *   unknown        every field fails with "unknown error"
 *   lost           GPU 0 gives no handle
 *   busy           another process computes on GPU 0
 *   mig            GPU 0 is an A100 cut into two MIG instances of 5 and 10 GB
 *   memory_v1      the library lacks the second version of the memory query
 *   no_power, no_energy, no_clock, no_temperature, no_reasons   no GPU tells that
 *   free           nothing sets GPU 0's clock but that it is idle and a person's own setting
 * The energy counter grows by 2500 mJ with every reading.
 * FAKE_NVML_LOG: file to which "init" and "shutdown" are appended.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, FUNCTION_NOT_FOUND = 13, GPU_IS_LOST = 15,
       UNKNOWN = 999 };

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } Process;

static const unsigned long long MIB = 1024ULL * 1024ULL;
static int initialised = 0; /* how many times, as NVML counts */

static int in_scenario(const char *word) {
    char buffer[256];
    const char *scenario = getenv("FAKE_NVML_SCENARIO");
    snprintf(buffer, sizeof buffer, "%s", scenario ? scenario : "");
    for (char *part = strtok(buffer, ","); part; part = strtok(NULL, ","))
        if (strcmp(part, word) == 0) return 1;
    return 0;
}

static void note(const char *event) {
    const char *path = getenv("FAKE_NVML_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", event);
    fclose(file);
}

/* Handles are small numbers: 1 to 3 are GPUs, 101 and 102 the MIG instances of GPU 0. */
static int gpu_of(uintptr_t handle) { return handle > 100 ? 0 : (int)handle - 1; }
static int slice_of(uintptr_t handle) { return handle > 100 ? (int)handle - 101 : -1; }
static int is_2060(uintptr_t handle) { return gpu_of(handle) > 0 || in_scenario("one"); }

static int refusal(void) {
    if (!initialised) return UNINITIALIZED;
    return in_scenario("unknown") ? UNKNOWN : OK;
}
#define GUARD do { int refused = refusal(); if (refused) return refused; } while (0)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    note("init");
    if (in_scenario("no_driver")) return DRIVER_NOT_LOADED;
    initialised++;
    return OK;
}

int nvmlShutdown(void) {
    note("shutdown");
    if (!initialised) return UNINITIALIZED;
    initialised--;
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    snprintf(text, size, "555.42.06");
    return OK;
}

int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size) {
    if (pid != 4242) return NOT_FOUND;
    snprintf(text, size, "/opt/somebody/train");
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = in_scenario("one") ? 1 : in_scenario("three") ? 3 : 2;
    return initialised ? OK : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, uintptr_t *handle) {
    if (index == 0 && in_scenario("lost")) return GPU_IS_LOST;
    *handle = index + 1;
    return initialised ? OK : UNINITIALIZED;
}

int nvmlDeviceGetName(uintptr_t handle, char *text, unsigned size) {
    GUARD;
    if (slice_of(handle) >= 0)
        snprintf(text, size, "NVIDIA A100-SXM4-40GB MIG %dg.%dgb", slice_of(handle) + 1,
                 5 * (slice_of(handle) + 1));
    else if (gpu_of(handle) == 0 && in_scenario("bad_name"))
        snprintf(text, size, "NVIDIA G\xff\xfe RTX");
    else if (gpu_of(handle) == 0 && in_scenario("mig"))
        snprintf(text, size, "NVIDIA A100-SXM4-40GB");
    else
        snprintf(text, size, "NVIDIA GeForce RTX %s", is_2060(handle) ? "2060" : "2080 Ti");
    return OK;
}

int nvmlDeviceGetUUID(uintptr_t handle, char *text, unsigned size) {
    GUARD;
    if (slice_of(handle) >= 0)
        snprintf(text, size, "MIG-%d1111111-0000-0000-0000-000000000000", slice_of(handle));
    else
        snprintf(text, size, "GPU-%d0000000-0000-0000-0000-000000000000", gpu_of(handle));
    return OK;
}

int nvmlDeviceGetPciInfo_v3(uintptr_t handle, Pci *pci) {
    GUARD;
    memset(pci, 0, sizeof *pci);
    pci->bus = gpu_of(handle) == 0 ? 0x3b : 0x85 + gpu_of(handle);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(uintptr_t handle, int *major, int *minor) {
    GUARD;
    int a100 = gpu_of(handle) == 0 && in_scenario("mig");
    *major = a100 ? 8 : 7;
    *minor = a100 ? 0 : 5;
    return OK;
}

static unsigned long long total_mib(uintptr_t handle) {
    if (slice_of(handle) >= 0) return slice_of(handle) == 0 ? 4864 : 9856;
    if (gpu_of(handle) == 0 && in_scenario("mig")) return 40536;
    return is_2060(handle) ? 6144 : 11264;
}

int nvmlDeviceGetMemoryInfo(uintptr_t handle, Memory *memory) {
    GUARD;
    if (in_scenario("no_permission")) return NO_PERMISSION;
    memory->total = total_mib(handle) * MIB;
    memory->used = 512 * MIB;
    memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(uintptr_t handle, MemoryV2 *memory) {
    Memory plain;
    if (in_scenario("memory_v1")) return FUNCTION_NOT_FOUND;
    int status = nvmlDeviceGetMemoryInfo(handle, &plain);
    if (status) return status;
    memory->total = plain.total;
    memory->reserved = 256 * MIB;
    memory->used = 256 * MIB;
    memory->free = plain.free;
    return OK;
}

int nvmlDeviceGetPowerUsage(uintptr_t handle, unsigned *milliwatts) {
    GUARD;
    if (in_scenario("no_power") || (gpu_of(handle) == 1 && in_scenario("unsupported"))) return NOT_SUPPORTED;
    *milliwatts = 61500;
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(uintptr_t handle, unsigned long long *millijoules) {
    GUARD;
    static unsigned long long readings = 0;
    if (in_scenario("no_energy") || (gpu_of(handle) == 1 && in_scenario("unsupported"))) return NOT_SUPPORTED;
    *millijoules = 123456789ULL + 2500ULL * readings++;
    return OK;
}

int nvmlDeviceGetClockInfo(uintptr_t handle, unsigned type, unsigned *mhz) {
    GUARD;
    if (in_scenario("no_permission")) return NO_PERMISSION;
    if (in_scenario("no_clock")) return NOT_SUPPORTED;
    *mhz = type == 1 ? 1350 : 7000;
    return OK;
}

int nvmlDeviceGetMaxClockInfo(uintptr_t handle, unsigned type, unsigned *mhz) {
    GUARD;
    *mhz = type == 1 ? 2100 : 7001;
    return OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(uintptr_t handle, unsigned long long *bits) {
    GUARD;
    if (in_scenario("no_reasons")) return NOT_SUPPORTED;
    *bits = gpu_of(handle) != 0 ? 0 : in_scenario("free") ? 0x1 | 0x2 : 0x4 | 0x40;
    return OK;
}

int nvmlDeviceGetTemperature(uintptr_t handle, unsigned sensor, unsigned *celsius) {
    GUARD;
    (void)sensor;
    if (in_scenario("no_temperature")) return NOT_SUPPORTED;
    *celsius = 55;
    return OK;
}

int nvmlDeviceGetMigMode(uintptr_t handle, unsigned *current, unsigned *pending) {
    GUARD;
    if (!in_scenario("mig")) return NOT_SUPPORTED;
    *current = *pending = gpu_of(handle) == 0;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(uintptr_t handle, unsigned *count) {
    GUARD;
    *count = gpu_of(handle) == 0 && in_scenario("mig") ? 7 : 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(uintptr_t handle, unsigned index, uintptr_t *instance) {
    GUARD;
    (void)handle;
    if (index > 1) return NOT_FOUND;
    *instance = 101 + index;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(uintptr_t handle, unsigned *count, Process *list) {
    GUARD;
    if (in_scenario("no_permission")) return NO_PERMISSION;
    if (gpu_of(handle) != 0 || !in_scenario("busy")) {
        *count = 0;
        return OK;
    }
    if (!list || *count < 2) {
        *count = 2;
        return INSUFFICIENT_SIZE;
    }
    *count = 2;
    list[0] = (Process){4242, 900 * MIB, 0, 0};
    list[1] = (Process){4343, ~0ULL, 0, 0}; /* memory not available */
    return OK;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(uintptr_t handle, unsigned *count, Process *list) {
    GUARD;
    (void)handle;
    (void)list;
    if (in_scenario("no_permission")) return NO_PERMISSION;
    *count = 0;
    return OK;
}
