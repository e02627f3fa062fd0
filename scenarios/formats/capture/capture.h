/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Our own record of a training script that ran on simulated GPUs (docs/capture-format.md), as a
 * plan.
 *
 * A kernel is a task that takes what its class takes on the GPU. Those of the default stream are
 * computing; those of other streams run beside it, each stream by itself and at full speed
 * (assumed, as is that copies over PCIe share it with nothing else). Collectives and messages stand
 * on streams as NCCL has them. What the program does in between, and where it waits, holds up all
 * that it issues later.
 *
 * Ranks that play a captured rank's role share its graph, unless an all-to-all with sizes of its
 * own is in it.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// The machine that a capture runs on.
struct CaptureMachine
{
    const training::GpuSpec& gpu;
    double hostLinkRate = 0; ///< bytes/s between a GPU and its server, each way; 0: not known
};

struct Captured
{
    training::TrainingPlan plan;
    uint32_t gpusPerServer = 0; ///< as the script was told; 0: not known
    std::string torch;          ///< version of PyTorch; empty: not known
    std::vector<std::string> notes;
};

/// Whether a folder is a capture.
bool IsCapture(const std::string& folder);

/// Nothing, and an error with its file and line or JSON path, if it is not in order.
std::optional<Captured> ReadCapture(const std::string& folder,
                                    const CaptureMachine& machine,
                                    std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_H
