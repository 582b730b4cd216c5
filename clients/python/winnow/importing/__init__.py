"""Studies of other programs: read as earlier results, and written."""

from winnow.importing.optuna import Study, export, optuna

__all__ = ["Study", "export", "optuna"]
