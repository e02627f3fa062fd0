/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The communication of a CriticalPath by parallelism.
 */
#include "results/attribution/critical-path.h"
#include "results/base/human-text.h"

namespace results
{

training::Parallelism
CriticalPath::ParallelismOf(const Part& part) const
{
    return training::ParallelismOf(m_plan.groupKinds[part.task->group], *part.task);
}

int64_t
CriticalPath::TimeOf(training::Parallelism parallelism) const
{
    int64_t time = 0;
    for (const Part& part : m_path)
    {
        if (Communicates(*part.task) && ParallelismOf(part) == parallelism)
        {
            time += part.end - part.start;
        }
    }
    return time;
}

const Object<CriticalPath>&
CriticalPath::ParallelismKeys()
{
    using training::Parallelism;
    const auto key = [](const char* words, Parallelism parallelism) {
        return Key<CriticalPath>(words, [parallelism](const CriticalPath& path) {
            return Us(path.TimeOf(parallelism));
        });
    };
    static const Object<CriticalPath> keys{
        key("tp (us): Tensor parallelism", Parallelism::kTensor),
        key("cp (us): Context parallelism", Parallelism::kContext),
        key("ep (us): Expert parallelism", Parallelism::kExpert),
        key("pp (us): Pipeline parallelism: messages between stages", Parallelism::kPipeline),
        key("dp (us): Data parallelism and ZeRO", Parallelism::kData),
        key("other (us): Groups of a recording with other names", Parallelism::kOther)};
    return keys;
}

} // namespace results
