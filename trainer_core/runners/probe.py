"""What an interpreter is asked before a run: a program for `python -c`, of the standard library.

Its arguments are module names; it prints one JSON object. It runs in a runner's own interpreter,
which may be an older Python that has nothing of ours.
"""

PROBE_PATIENCE_S = 30.0
"""How long it is waited for. It takes a tenth of a second; a busy computer stretches that, and
nobody is held up meanwhile: the app says that it checks."""

PROBE = """
import ctypes, importlib.util as util, json, platform, sys
from importlib import metadata
modules = {}
for name in sys.argv[1:]:
    try:
        spec = util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    try:
        version = metadata.version({"warp": "warp-lang"}.get(name, name))
    except metadata.PackageNotFoundError:
        version = "?"
    modules[name] = version if spec else None
gpus = []
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for index in range(count.value):
            name, size = ctypes.create_string_buffer(100), ctypes.c_size_t()
            cuda.cuDeviceGetName(name, 100, index)
            cuda.cuDeviceTotalMem_v2(ctypes.byref(size), index)
            gpus.append({"name": name.value.decode(), "bytes": size.value})
except OSError:
    pass
print(json.dumps({"python": platform.python_version(), "modules": modules, "gpus": gpus}))
"""
