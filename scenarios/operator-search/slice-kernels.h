/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a device computes and keeps of an operator that is cut.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SLICE_KERNELS_H
#define SCENARIOS_OPERATOR_SEARCH_SLICE_KERNELS_H

#include "scenarios/operator-search/graph.h"
#include "scenarios/operator-search/layout.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>

namespace sharding
{

/// Kernels of one slice, by the same rules as everywhere (layer-kernels.h). Works of the graph have
/// batch and sequence in them: those of the options do not count.
class SliceKernels
{
  public:
    explicit SliceKernels(const training::TrainingOptions& options);

    training::Kernels Of(const Operator& op, const Strategy& strategy, training::Pass pass) const;

    double Seconds(const training::Kernels& kernels) const;

    /// Forward.
    double Forward(const Operator& op, const Strategy& strategy) const;

    /// Gradients of what it takes, which operators before it wait for, and of its parameters.
    double BackwardInput(const Graph& graph, uint32_t op, const Strategy& strategy) const;
    double BackwardWeights(const Graph& graph, uint32_t op, const Strategy& strategy) const;

    /// FLOPs of the whole operator, forward.
    double Flops(const Operator& op) const;

    const training::TrainingOptions& Options() const
    {
        return m_options;
    }

  private:
    training::TrainingOptions m_options;
};

/// Parameters of a device, of those that the operator owns.
double ParametersOf(const Graph& graph, uint32_t op, const Strategy& strategy);

/// Bytes of a device: parameters, gradients and optimizer states of an operator, once for each
/// folded one, and what backward needs of it: the slices that it takes, and attention's output
/// (assumed: nothing is computed in place).
double StateBytes(const Graph& graph,
                  uint32_t op,
                  const Strategy& strategy,
                  const training::TrainingOptions& options);
double KeptBytes(const Graph& graph, uint32_t op, const Strategy& strategy);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SLICE_KERNELS_H
