"""The numbers of a run that a study may hold against another's.

An onset and a stop of reward are shares of the run.
"""

from __future__ import annotations

from collections.abc import Mapping

STUDY_QUANTITIES: Mapping[str, str] = {
    "gain": "gain of reward",
    "final_reward": "reward at the end",
    "entropy_fall": "fall of H on the probe, nats",
    "entropy_lost": "mean loss of H on the probe, nats",
    "onset": "onset of collapse on the probe",
    "lead": "stop of reward minus fall of H on the probe",
    "starved_share": "share of groups that teach nothing",
    "solving": "share that suggests or informs at the end",
}
NET_OF_NULL = ("gain", "final_reward", "entropy_fall", "entropy_lost", "solving")
"""Of these a null control has a number of the same kind, to be taken off."""
