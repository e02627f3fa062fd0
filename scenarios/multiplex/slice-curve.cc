/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/slice-curve.h"

#include "scenarios/multiplex/mix.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace multiplex
{

namespace
{

/// Bytes/s of copies from pageable memory. Fitted with the constants of resnet50 and vgg16
/// (parvagpu-a100.cc): 602 kB take 0.042 and 0.065 ms.
constexpr double COPY_RATE = 12e9;
/// Of a picture of 224 x 224 points with three channels in 32 bit (assumed of all models of
/// pictures), and of a token: three indices of 64 bit, as BERT's.
constexpr double PICTURE_BYTES = 4. * 3 * 224 * 224;
constexpr double TOKEN_BYTES = 3 * 8;

} // namespace

double
MigInstance::Percent() const
{
    return std::min(kWholeGpu, slices * kMigSlice);
}

const std::vector<MigInstance>&
MigInstances()
{
    static const std::vector<MigInstance> all = {{"1g.10gb", 1, 14, 1. / 8, 10},
                                                 {"2g.20gb", 2, 28, 2. / 8, 20},
                                                 {"3g.40gb", 3, 42, 4. / 8, 40},
                                                 {"4g.40gb", 4, 56, 4. / 8, 40},
                                                 {"7g.80gb", 7, 98, 8. / 8, 80}};
    return all;
}

const MigInstance*
FindMigInstance(const std::string& text)
{
    for (const MigInstance& instance : MigInstances())
    {
        const std::string slices = std::to_string(instance.slices);
        if (text == instance.name || text == slices + "g" || text == slices + "/7")
        {
            return &instance;
        }
    }
    return nullptr;
}

const MigInstance&
MigInstanceOf(double percent)
{
    const auto& all = MigInstances();
    const auto at = std::find_if(all.begin(), all.end(), [&](const MigInstance& instance) {
        return instance.Percent() >= percent - 1e-6;
    });
    return at == all.end() ? all.back() : *at;
}

std::string
MigInstanceNames()
{
    std::vector<std::string> names;
    for (const MigInstance& instance : MigInstances())
    {
        names.emplace_back(instance.name);
    }
    return topo::JoinNames(names);
}

LoopTimes
TimesOf(const SliceConstants& c, const MigInstance& instance, uint32_t batch)
{
    LoopTimes times;
    times.host = c.host / 1e3;
    times.own = c.own * batch / 1e3;
    times.link = c.link * batch / 1e3;
    times.gpu = (c.weights / instance.bus + c.work * batch / instance.multiprocessors) / 1e3;
    return times;
}

KernelSlices::KernelSlices(training::ModelSpec model,
                           training::GpuSpec gpu,
                           training::Dtype dtype,
                           uint32_t sequence,
                           double operatorSeconds)
    : m_kernels(model, gpu, dtype, sequence, false),
      m_operatorSeconds(operatorSeconds)
{
    m_inputSeconds = (model.hasSequence ? TOKEN_BYTES * sequence : PICTURE_BYTES) / COPY_RATE;
}

LoopTimes
KernelSlices::Times(const MigInstance& instance, uint32_t batch) const
{
    LoopTimes times;
    times.host = m_kernels.Launches() * m_operatorSeconds;
    times.link = m_inputSeconds * batch;
    times.gpu = m_kernels.SecondsOn(batch, instance.multiprocessors, instance.bus);
    return times;
}

} // namespace multiplex
