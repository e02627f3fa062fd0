/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a batch of a model needs on a MIG instance (closed-loop.h), from one of two sources:
 *
 *   fitted    five constants of a model:
 *                 host                          ms a batch, launches by the framework's host
 *                 own x b                       ms a sample
 *                 link x b                      ms a sample
 *                 weights / bus + work x b / multiprocessors      ms on the GPU
 *   kernels   the model zoo's kernels on the instance's multiprocessors and bus; operators x the
 *             host's time of one; inputs over the PCIe link
 */
#ifndef SCENARIOS_MULTIPLEX_SLICE_CURVE_H
#define SCENARIOS_MULTIPLEX_SLICE_CURVE_H

#include "scenarios/multiplex/closed-loop.h"
#include "scenarios/multiplex/kernel-curve.h"
#include "scenarios/multiplex/share-curve.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace multiplex
{

/// An instance of an A100 (NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles":
/// sevenths of the multiprocessors, eighths of the memory and its bus; 14 multiprocessors a slice,
/// 98 of 108 in all: NJIT HPC, Wulver, "MIG").
struct MigInstance
{
    const char* name;
    uint32_t slices;          ///< of seven
    double multiprocessors;   ///< of 108
    double bus;               ///< share of the memory's bandwidth
    uint32_t memoryGigabytes; ///< of 80

    /// Per cent of the GPU, as shares of a mix have it.
    double Percent() const;
};

const std::vector<MigInstance>& MigInstances();

/// "2g.20gb", "2g" or "2/7"; null: none is called so.
const MigInstance* FindMigInstance(const std::string& text);

/// The one with this share, or the next larger one.
const MigInstance& MigInstanceOf(double percent);

/// "1g.10gb, 2g.20gb, ...".
std::string MigInstanceNames();

/// Processes under MPS of one GPU: its limit (NVIDIA Multi-Process Service, "Limitations").
constexpr uint32_t kMostProcesses = 48;

class SliceCurve
{
  public:
    virtual ~SliceCurve() = default;

    virtual LoopTimes Times(const MigInstance& instance, uint32_t batch) const = 0;

    /// "fitted", "kernels".
    virtual std::string Kind() const = 0;

    /// The largest batch that was measured; 0: none was.
    virtual uint32_t LargestMeasured() const
    {
        return 0;
    }

    /// Requests/s of all processes, in closed loops.
    double PerSecond(const MigInstance& instance, uint32_t processes, uint32_t batch) const
    {
        return processes * batch / CycleSeconds(Times(instance, batch), processes);
    }
};

using SlicePointer = std::shared_ptr<const SliceCurve>;

/// See above.
struct SliceConstants
{
    double host = 0;    ///< ms a batch
    double own = 0;     ///< ms a sample
    double weights = 0; ///< ms a batch, on the whole bus
    double work = 0;    ///< ms x multiprocessors a sample
    double link = 0;    ///< ms a sample
};

LoopTimes TimesOf(const SliceConstants& constants, const MigInstance& instance, uint32_t batch);

class FittedSlices : public SliceCurve
{
  public:
    FittedSlices(const SliceConstants& constants, uint32_t largest)
        : m_constants(constants),
          m_largest(largest)
    {
    }

    LoopTimes Times(const MigInstance& instance, uint32_t batch) const override
    {
        return TimesOf(m_constants, instance, batch);
    }

    std::string Kind() const override
    {
        return "fitted";
    }

    uint32_t LargestMeasured() const override
    {
        return m_largest;
    }

  private:
    SliceConstants m_constants;
    uint32_t m_largest;
};

class KernelSlices : public SliceCurve
{
  public:
    /// \param operatorSeconds the host's time of a kernel that PyTorch launches
    KernelSlices(training::ModelSpec model,
                 training::GpuSpec gpu,
                 training::Dtype dtype,
                 uint32_t sequence,
                 double operatorSeconds);

    LoopTimes Times(const MigInstance& instance, uint32_t batch) const override;

    std::string Kind() const override
    {
        return "kernels";
    }

    double Operators() const
    {
        return m_kernels.Launches();
    }

  private:
    KernelCurve m_kernels;
    double m_operatorSeconds;
    double m_inputSeconds; ///< a sample, on the link
};

/// Latency of a batch by the share, so that policies can size a model: that of the smallest
/// instance with this share.
class SliceShareCurve : public ShareCurve
{
  public:
    SliceShareCurve(SlicePointer slices, uint32_t processes)
        : m_slices(std::move(slices)),
          m_processes(processes)
    {
    }

    double Seconds(uint32_t batch, double percent) const override
    {
        return CycleSeconds(m_slices->Times(MigInstanceOf(percent), batch), m_processes);
    }

    std::string WhyNot(uint32_t, double) const override
    {
        return "";
    }

    uint32_t LargestBatch() const override
    {
        return m_slices->LargestMeasured() > 0 ? m_slices->LargestMeasured() : 32;
    }

    std::string Kind() const override
    {
        return m_slices->Kind();
    }

  private:
    SlicePointer m_slices;
    uint32_t m_processes;
};

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SLICE_CURVE_H
