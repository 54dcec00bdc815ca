"""Accesses inferred from the texts of commands, for rollouts that were never traced."""

from .record import Inferred, drop_inferred, infer_accesses, infer_record

__all__ = ["Inferred", "drop_inferred", "infer_accesses", "infer_record"]
