/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure a number is (scenarios/compared/band.h), as keys of stats.json and in words.
 */
#ifndef REPORTS_PROGRAMS_BAND_TEXT_H
#define REPORTS_PROGRAMS_BAND_TEXT_H

#include "reports/schema/object.h"
#include "scenarios/compared/band.h"
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

/// Keys of "compared_with" of a step.
const Object<ComparedStep>& ComparedKeys();

/// "80% band of 46 measured of 12 series (nanotron, dense transformer)"; whether the simulated
/// value is in it, if not how far the band is.
std::string BandWords(const compared::Band& band);

/// "456 ms to 502 ms, MFU 39.1 to 43.0%: " and BandWords(); or that too few of its kind were
/// compared.
std::string BandText(const ComparedStep& step,
                     const std::vector<compared::Band>& groups = compared::Bands());

/// A simulated number of a metric that bands.json has.
struct ComparedNumber
{
    const char* metric;
    double value = 0; ///< in its unit
    const compared::Kind& kind;

    /// Null: no rows like this.
    const compared::Band* BandOf() const
    {
        return compared::FindBand(metric, kind);
    }
};

/// Keys of each of "compared_with".
const Object<ComparedNumber>& ComparedNumberKeys();

} // namespace reports

#endif // REPORTS_PROGRAMS_BAND_TEXT_H
