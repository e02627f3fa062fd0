/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The forward of the next step, layer by layer behind the reductions of its own parameters.
 *
 * A step ends when all its tasks have ended, so a step graph from forward to optimizer holds all
 * of the next forward up until the last gradient is there. This pass turns the graph: a step goes
 * from one backward to the next.
 *
 *     usual    forward 1..L, backward L..1, optimizer       (all reductions end before optimizer)
 *     turned   backward L..1, optimizer 1, forward 1, optimizer 2, forward 2, ... of the next step
 *     first    forward 1..L, then as turned
 *
 * Every dependency stays within a step: forward of layer i is behind the reductions whose lowest
 * layer is i, and by the order of the stream behind those of the layers below. A step takes what it
 * takes from one backward to the next, which in the long run is the same time.
 *
 * Each layer has its share of the optimizer's time, by its parameters, in front of its forward (P3
 * and ByteScheduler update a layer's parameters alike, as soon as its own gradients are there). So
 * gradients are not clipped by the norm of all of them.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_NEXT_FORWARD_H
#define SCENARIOS_TRAINING_GRAPHS_NEXT_FORWARD_H

#include "scenarios/training/rank-layers.h"
#include "scenarios/training/steps/step-graph.h"

#include <vector>

namespace training
{

/// \pre one stage, whole gradients (ZeRO-0), and the optimizer on the GPU
/// \param layers of the rank \param step the usual graph \param first of a run
StepGraph WithNextForward(const std::vector<RankLayer>& layers, const StepGraph& step, bool first);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_NEXT_FORWARD_H
