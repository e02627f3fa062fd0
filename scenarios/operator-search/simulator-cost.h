/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The cost in seconds of a step: kernels of the slices (kernel-time.h) and collectives by formula
 * on this cluster, one after another. Of what runs side by side, it knows that an operator computes
 * its parameters' gradients beside the exchanges of its input's gradient. StepWalk knows the rest,
 * and compares the results of several searches (sharded-plan.h).
 *
 *   operator   forward, backward; all-reduce of partial sums forward, and of each input's gradient;
 *              reduction of parameters' gradients in buckets; the optimizer
 *   edge       slices cost nothing; all-to-alls and all-gathers, forward and, the other way,
 *              backward
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SIMULATOR_COST_H
#define SCENARIOS_OPERATOR_SEARCH_SIMULATOR_COST_H

#include "scenarios/operator-search/cost.h"
#include "scenarios/operator-search/slice-kernels.h"

#include <cstdint>

namespace sharding
{

/// How long collectives take.
class CommunicationTimes
{
  public:
    virtual ~CommunicationTimes() = default;

    /// Seconds in groups of ranks that differ in these digits. \param bytes as Collective::bytes
    virtual double Seconds(coll::Op op, double bytes, const Digits& digits) = 0;

    /// Whether a group is on several servers: collectives at the same time share the NICs.
    virtual bool TakesNics(const Digits& /* digits */)
    {
        return false;
    }
};

class SimulatorCost : public CostModel
{
  public:
    /// \param passes micro-batches of a step
    SimulatorCost(const SliceKernels& kernels,
                  CommunicationTimes& times,
                  uint32_t devices,
                  uint32_t passes)
        : m_kernels(kernels),
          m_times(times),
          m_devices(devices),
          m_passes(passes)
    {
    }

    /// \param exposed the part of gradients' reductions that counts: the rest runs beside backward
    void SetExposed(double exposed)
    {
        m_exposed = exposed;
    }

    /// \param secondsPerByte price of a device's memory
    void SetMemoryPrice(double secondsPerByte)
    {
        m_memoryPrice = secondsPerByte;
    }

    Cost OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const override;
    Cost OfMove(const Graph& graph,
                const Edge& edge,
                const Layout& from,
                const Layout& to) const override;

    bool Scatters() const override
    {
        return true;
    }

    Cost OfScatter(const Digits& partial,
                   const Layout& from,
                   const Layout& to,
                   double bytes) const override;

    bool Hides() const override
    {
        return true;
    }

    Beside OfBeside(const Graph& graph, uint32_t op, const Strategy& strategy) const override;
    double OfMoveBack(const Graph& graph,
                      const Edge& edge,
                      const Layout& from,
                      const Layout& to) const override;

    const char* Unit() const override
    {
        return "s";
    }

  private:
    /// \return seconds of a redistribution, one way
    double Move(const Layout& from, const Layout& to, double whole) const;
    /// \return seconds to add up partial sums of an input's gradient, in one pass
    double SumOfGradient(const Graph& graph,
                         uint32_t op,
                         const Strategy& strategy,
                         uint32_t input) const;
    /// \return seconds to reduce a parameter's gradients
    double Reduction(const TensorInfo& tensor, const Layout& layout) const;

    const SliceKernels& m_kernels;
    CommunicationTimes& m_times;
    uint32_t m_devices;
    uint32_t m_passes;
    double m_exposed = 1;
    double m_memoryPrice = 0;
};

/// A collective of a redistribution's step; none for a slice. \param whole bytes of the tensor
struct MoveCollective
{
    coll::Op op = coll::Op::kAllGather;
    double bytes = 0;
    Digits digits;
};

std::vector<MoveCollective> CollectivesBetween(const Layout& from, const Layout& to, double whole);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SIMULATOR_COST_H
