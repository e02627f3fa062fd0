/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/band-text.h"

#include "reports/base/human-text.h"

#include <cmath>

namespace reports
{

namespace
{

/// A key that is null where no published steps were compared.
Key<ComparedStep>
OfBand(const char* words, double (*value)(const compared::StepBand& band, double us))
{
    return Key<ComparedStep>(words,
                             [value](const ComparedStep& step) {
                                 return value(*compared::BandOf(step.options), step.stepUs);
                             })
        .NullUnless(
            [](const ComparedStep& step) { return compared::BandOf(step.options) != nullptr; });
}

} // namespace

const Object<ComparedStep>&
ComparedKeys()
{
    static const Object<ComparedStep> keys{
        {"generation: Generation of the GPU; empty: none that is known",
         [](const ComparedStep& s) { return compared::KindOf(s.options).generation; }},
        {"precision: Precision of matrix products",
         [](const ComparedStep& s) { return compared::KindOf(s.options).precision; }},
        {"model: Class of the model",
         [](const ComparedStep& s) { return compared::KindOf(s.options).model; }},
        Key<ComparedStep>("like: What the published steps have in common",
                          [](const ComparedStep& s) {
                              return compared::KindText(compared::BandOf(s.options)->of);
                          })
            .NullUnless(
                [](const ComparedStep& s) { return compared::BandOf(s.options) != nullptr; }),
        {"rows (count): Published steps like this one, beside their simulations",
         [](const ComparedStep& s) {
             const compared::StepBand* band = compared::BandOf(s.options);
             return band ? band->rows : 0;
         }},
        OfBand("share (0 to 1): Chance that one more of them lies in its band",
               [](const compared::StepBand& band, double) { return band.share; }),
        OfBand("step_time_low_us (us): Lower end of the band around step_time_us",
               [](const compared::StepBand& band, double us) { return us * band.least; }),
        OfBand("step_time_high_us (us): Its upper end",
               [](const compared::StepBand& band, double us) { return us * band.most; })};
    return keys;
}

namespace
{

/// A step that its own band does not hold: which way such simulations were wrong.
std::string
OneSided(const compared::StepBand& band)
{
    if (band.least <= 1 && band.most >= 1)
    {
        return "";
    }
    const bool longer = band.least > 1;
    const double near = 100 * std::abs((longer ? band.least : band.most) - 1);
    const double far = 100 * std::abs((longer ? band.most : band.least) - 1);
    return Format(". These took %.0f to %.0f%% %s than their simulations, so expect the band.",
                  near,
                  far,
                  longer ? "longer" : "less");
}

} // namespace

std::string
BandText(const ComparedStep& step, const std::vector<compared::StepBand>& groups)
{
    const compared::StepBand* band = compared::BandOf(step.options, groups);
    if (!band)
    {
        const auto kind = compared::KindOf(step.options);
        return step.options.profile ? "unknown: measured times came from a profile"
               : kind.generation.empty()
                   ? "unknown: no published step of this GPU was compared"
                   : "unknown: fewer than five published steps of its kind were compared (" +
                         compared::KindText(kind) + ")";
    }
    std::string text =
        HumanTime(step.stepUs * band->least) + " to " + HumanTime(step.stepUs * band->most);
    if (step.mfu > 0)
    {
        text += Format(", MFU %.1f to %.1f%%",
                       100 * step.mfu / band->most,
                       100 * step.mfu / band->least);
    }
    return text + Format(": %.0f%% band of %u published steps (", 100 * band->share, band->rows) +
           compared::KindText(band->of) + ")" + OneSided(*band);
}

} // namespace reports
