/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the kernels of a capture take on a GPU.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_KERNELS_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_KERNELS_H

#include "scenarios/formats/capture/capture-object.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/training/steps/step-graph.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace formats
{

/// FLOPs of matrix products, convolutions and attention in a step of a rank.
struct CapturedWork
{
    double forward = 0;
    double backward = 0;      ///< with what is computed again
    double secondsAtPeak = 0; ///< both, at the peaks of their data types

    /// FLOPs of the model: 3 x forward for training, less where backward computes less, as with
    /// frozen layers. What is computed again counts once.
    double OfModel() const
    {
        return std::min(forward + backward, 3 * forward);
    }

    /// The time of these FLOPs at the peak.
    double ModelSecondsAtPeak() const
    {
        const double all = forward + backward;
        return all > 0 ? secondsAtPeak * OfModel() / all : 0;
    }
};

class CaptureKernels
{
  public:
    explicit CaptureKernels(const training::GpuSpec& gpu);

    /// The allowed values of the key "kind" in a kernel's line.
    static const std::vector<std::string>& Names();

    /// Sets the kind and the duration of a task. False, and an error of the line, if its sizes are
    /// not in order, or it takes too long. \param kind one of Names()
    /// \param work adds its FLOPs, by the task's phase
    bool Set(CaptureObject& line,
             const std::string& kind,
             training::Task* task,
             CapturedWork* work);

    /// Data types that the GPU has not, and those whose times their kernels take.
    const std::map<std::string, std::string>& Replaced() const
    {
        return m_replaced;
    }

  private:
    training::Dtype DtypeOf(const std::string& text);

    const training::GpuSpec m_gpu; ///< as it computes in training
    std::map<std::string, std::string> m_replaced;
};

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_KERNELS_H
