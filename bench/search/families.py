"""The families of bench/search/families.h in Python, through their C interface: the very same functions."""

import ctypes
import pathlib
import typing

import numpy

LIBRARY = "libwinnow_bench_families.so"
_DOUBLES = ctypes.POINTER(ctypes.c_double)


class Parameter(typing.NamedTuple):
    name: str
    kind: str  # integer, continuous or categorical: the numbers 0..max
    min: float
    max: float
    log: bool


def _load(folder):
    library = ctypes.CDLL(str(pathlib.Path(folder, LIBRARY).resolve()))
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures = {
        "open": (handle, text, text, ctypes.c_size_t), "names": (text,), "max_resource": (number, handle),
        "optimum": (ctypes.c_double, handle), "parameters": (number, handle),
        "parameter_name": (text, handle, number), "parameter_kind": (text, handle, number),
        "parameter_min": (ctypes.c_double, handle, number), "parameter_max": (ctypes.c_double, handle, number),
        "parameter_log": (number, handle, number), "to_unit": (None, handle, _DOUBLES, _DOUBLES),
        "curve": (None, handle, _DOUBLES, ctypes.c_uint64, _DOUBLES, _DOUBLES),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, f"winnow_family_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def names(folder):
    """The closed-form families; `folder` holds the library."""
    return _load(folder).winnow_family_names().decode().split(",")


class Family:
    """Raises ValueError where there is no such family. `name` as MakeFamily takes it."""

    def __init__(self, folder, name):
        self._library = _load(folder)
        error = ctypes.create_string_buffer(300)
        self._family = self._library.winnow_family_open(name.encode(), error, len(error))
        if not self._family:
            raise ValueError(error.value.decode())
        self.max_resource = self._library.winnow_family_max_resource(self._family)
        self.optimum = self._library.winnow_family_optimum(self._family)
        field = lambda what, i: getattr(self._library, f"winnow_family_parameter_{what}")(self._family, i)
        self.parameters = [
            Parameter(field("name", i).decode(), field("kind", i).decode(), field("min", i), field("max", i),
                      bool(field("log", i)))
            for i in range(self._library.winnow_family_parameters(self._family))]

    def curve(self, unit, seed):
        """The values and what is observed at levels 1..R, as lists, of a point of the unit cube."""
        point = numpy.ascontiguousarray(unit, dtype=float)
        both = numpy.empty((2, self.max_resource))
        self._library.winnow_family_curve(self._family, point.ctypes.data_as(_DOUBLES), seed,
                                          both[0].ctypes.data_as(_DOUBLES), both[1].ctypes.data_as(_DOUBLES))
        return both.tolist()

    def to_unit(self, configuration):
        """The coordinates of {name: value}."""
        native = numpy.array([float(configuration[parameter.name]) for parameter in self.parameters])
        unit = numpy.empty(len(self.parameters))
        self._library.winnow_family_to_unit(self._family, native.ctypes.data_as(_DOUBLES),
                                            unit.ctypes.data_as(_DOUBLES))
        return unit
