"""Compiled libraries that stand for the driver's libcuda and NVML, of a machine with a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CUDA = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((destructor)) static void shut_down(void) { if (getenv("LINGER")) pause(); }
int cuInit(unsigned flags) {
  if (getenv("LOUD")) puts("hello");
  if (getenv("DIE")) abort();
  if (getenv("HANG")) pause();
  return getenv("STATUS") ? atoi(getenv("STATUS")) : 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) {
  if (getenv("NAME")) return snprintf(name, size, "%s", getenv("NAME")) < 0;
  name[0] = 'A' + device; name[1] = 0; return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device) { for (int i = 0; i < 16; ++i) uuid[i] = i + 16 * device; return 0; }
int cuDeviceCanAccessPeer(int *can, int device, int peer) { *can = device != peer && getenv("PEERS"); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
"""
NVML = """
#include <stdlib.h>
#include <string.h>
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char name[32]; } Pci;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } Process;
const char *nvmlErrorString(int status) { return status == 18 ? "Driver/library version mismatch" : "Not Supported"; }
int nvmlInit_v2(void) { return getenv("MISMATCH") ? 18 : 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strcpy(text, "580.95.05"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = getenv("LOST") ? 2 : 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)0x1000; return index ? 15 : 0; }
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) { strcpy(text, device == (void *)0x1000 ? "GPU-1" : "MIG-1"); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { strcpy(text, "Some GPU"); return 0; }
int nvmlDeviceGetPciInfo_v3(void *device, Pci *pci) { pci->domain = 0; pci->bus = 0x1b; pci->device = 2; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) { memory->total = 8ull << 30; memory->free = 2ull << 30; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMinorNumber(void *device, unsigned *number) { *number = 3; return 0; }
int nvmlDeviceGetComputeMode(void *device, unsigned *mode) { *mode = getenv("RESTRICTED") ? 3 : 0; return 0; }
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) { *current = *pending = getenv("RESTRICTED") != 0; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig) { *mig = (void *)0x2000; return index ? 6 : 0; }
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active) { *active = getenv("PEERS") != 0; return 0; }
int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  *corrected = 1; *uncorrected = 2; *pending = getenv("REMAP") != 0; *failed = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *found) {
  found[0].pid = 4711; found[0].bytes = 6ull << 30; found[1].pid = 4712; found[1].bytes = -1ull; *count = 2; return 0; }
"""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("libraries")
    sources = {"libcuda.so.1": CUDA, "libnvidia-ml.so.1": NVML, "libnvidia-ptxjitcompiler.so.1": ""}
    for name, source in sources.items():
        command = ["cc", "-x", "c", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(directory / name), "-"]
        subprocess.run(command, input=source, text=True, check=True)
    return directory
