/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The communication of a CriticalPath by parallelism.
 */
#include "reports/attribution/critical-path.h"
#include "reports/attribution/parallelism-keys.h"
#include "reports/base/human-text.h"

namespace reports
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
    static const auto keys = KeysByParallelism<CriticalPath>(
        [](const CriticalPath& path, training::Parallelism parallelism) {
            return Us(path.TimeOf(parallelism));
        });
    return keys;
}

} // namespace reports
