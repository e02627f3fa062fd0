# SPDX-License-Identifier: GPL-2.0-only
"""Simulate distributed training on a cluster from Python: dltrain, collperf and traffic, with data
frames as results.

    from cluster_simulator import GPUmodel, ServerConfig, Simulator, NetworkConfig

    sim = Simulator(servers=[ServerConfig([GPUmodel.A100] * 8)] * 16,
                    network_topo=NetworkConfig("fattree", **NetworkConfig.ETH_100G))
    run = sim.train(model="bloom560m", zero=2)
    run.stats["step_time_us"], run.flows(), run.links(), run.calls(), run.events()
"""

from .errors import (
    InvalidInput,
    ProgramNotFound,
    SimulationFailed,
    SimulatorError,
    SimulatorWarning,
)
from .hardware import GPUmodel, ServerConfig
from .network import NetworkConfig
from .results import ResultsError, Run
from .simulator import Plan, Result, Simulator, load

__all__ = [
    "GPUmodel",
    "InvalidInput",
    "NetworkConfig",
    "Plan",
    "ProgramNotFound",
    "Result",
    "ResultsError",
    "Run",
    "ServerConfig",
    "SimulationFailed",
    "Simulator",
    "SimulatorError",
    "SimulatorWarning",
    "load",
]
