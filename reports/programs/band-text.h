/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure a step is (scenarios/compared/step-band.h), as keys of stats.json and in words.
 */
#ifndef REPORTS_PROGRAMS_BAND_TEXT_H
#define REPORTS_PROGRAMS_BAND_TEXT_H

#include "reports/schema/object.h"
#include "scenarios/compared/step-band.h"
#include "scenarios/training/spec/plan-options.h"

#include <string>
#include <vector>

namespace reports
{

/// A simulated step, beside published ones of its kind.
struct ComparedStep
{
    const training::TrainingOptions& options;
    double stepUs = 0;
    double mfu = 0; ///< 0: not known
};

/// Keys of "compared_with".
const Object<ComparedStep>& ComparedKeys();

/// "456 ms to 502 ms, MFU 39.1 to 43.0%: 80% band of 112 published steps (Ampere, 16 bits, dense
/// transformer)"; or that too few of its kind were compared. A band that does not hold the step
/// says by how much the published steps differ from their simulations.
std::string BandText(const ComparedStep& step,
                     const std::vector<compared::StepBand>& groups = compared::ComparedSteps());

} // namespace reports

#endif // REPORTS_PROGRAMS_BAND_TEXT_H
