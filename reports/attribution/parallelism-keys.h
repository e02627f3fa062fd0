/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Times by what ranks are divided for: keys that the step and its critical path have alike.
 */
#ifndef REPORTS_ATTRIBUTION_PARALLELISM_KEYS_H
#define REPORTS_ATTRIBUTION_PARALLELISM_KEYS_H

#include "reports/schema/object.h"
#include "scenarios/training/steps/parallelism.h"

namespace reports
{

/// \param time of a record and a Parallelism: microseconds
template <class Record, class Time>
Object<Record>
KeysByParallelism(const Time& time)
{
    using training::Parallelism;
    const auto key = [&time](const char* words, Parallelism parallelism) {
        return Key<Record>(words, [time, parallelism](const Record& record) {
            return time(record, parallelism);
        });
    };
    return {key("tp (us): Tensor parallelism", Parallelism::kTensor),
            key("cp (us): Context parallelism", Parallelism::kContext),
            key("ep (us): Expert parallelism", Parallelism::kExpert),
            key("pp (us): Pipeline parallelism: messages between stages", Parallelism::kPipeline),
            key("dp (us): Data parallelism and ZeRO", Parallelism::kData),
            key("other (us): Groups of a recording with other names", Parallelism::kOther)};
}

} // namespace reports

#endif // REPORTS_ATTRIBUTION_PARALLELISM_KEYS_H
