/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MindSpore's own cost (mindspore/ccsrc/frontend/parallel of mindspore-ai/mindspore: costmodel.cc,
 * operator_costmodel.cc, edge_costmodel.cc, tensor_layout/tensor_redistribution.cc;
 * costmodel_context.h for the defaults). Its unit is a byte:
 *
 *   total = alpha x computation + beta x communication
 *
 *   operator    computation    bytes of the slices of its inputs, and of its output if it has
 *                              partial sums; of a parameter in fewer parts than devices once more
 *               communication  forward: bytes of the output's slice with partial sums
 *                              backward, times gamma: of a parameter in fewer parts than devices
 *   edge        split          computation: the slice before it
 *               all-to-all     communication: 2 slices each way
 *               all-gather     communication: forward 0.5 n slices, backward 0.5 slices
 *
 * A communication of up to `threshold` bytes costs `least`, a larger one `bias` more. Forward and
 * backward of an edge count in full, each as a communication of its own.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_MINDSPORE_COST_H
#define SCENARIOS_OPERATOR_SEARCH_MINDSPORE_COST_H

#include "scenarios/operator-search/cost.h"

namespace sharding
{

struct MindSporeConstants
{
    double alpha = 1;
    double beta = 400; ///< Ascend; on GPUs 50
    double gamma = 0.001;
    double threshold = 2048;
    double least = 3072;
    double bias = 1024;
};

class MindSporeCost : public CostModel
{
  public:
    explicit MindSporeCost(uint32_t devices, const MindSporeConstants& constants = {})
        : m_devices(devices),
          m_of(constants)
    {
    }

    Cost OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const override;
    Cost OfMove(const Graph& graph,
                const Edge& edge,
                const Layout& from,
                const Layout& to) const override;

    const char* Unit() const override
    {
        return "";
    }

  private:
    double Refined(double bytes) const;
    Cost Total(double computation, double communication, double ofParameters) const;

    uint32_t m_devices;
    MindSporeConstants m_of;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_MINDSPORE_COST_H
