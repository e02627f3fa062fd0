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

using compared::Band;

const Band*
BandIn(const ComparedStep& step)
{
    return compared::BandOf(step.options);
}

const Band*
BandIn(const ComparedNumber& number)
{
    return number.BandOf();
}

/// A key that is null where nothing was compared.
template <typename T>
Key<T>
OfBand(const char* words, double (*value)(const Band& band, const T& of))
{
    return Key<T>(words, [value](const T& of) { return value(*BandIn(of), of); })
        .NullUnless([](const T& of) { return BandIn(of) != nullptr; });
}

template <typename T>
Key<T>
LikeKey()
{
    return Key<T>("like: What the measured ones have in common",
                  [](const T& of) { return compared::KindText(BandIn(of)->of); })
        .NullUnless([](const T& of) { return BandIn(of) != nullptr; });
}

template <typename T>
Key<T>
RowsKey()
{
    return {"rows (count): Measured ones like this one, beside their simulations",
            [](const T& of) { return BandIn(of) ? BandIn(of)->rows : 0; }};
}

template <typename T>
Key<T>
SourcesKey()
{
    return {"sources (count): Pages that they are from, or series of one page",
            [](const T& of) { return BandIn(of) ? BandIn(of)->sources : 0; }};
}

template <typename T>
Key<T>
ShareKey()
{
    return OfBand<T>("share (0 to 1): Chance that one more of them lies in its band",
                     [](const Band& band, const T&) { return band.share; });
}

template <typename T>
Key<T>
HeldKey()
{
    return Key<T>("held_share (0 to 1): Rows of a source that lay in the band of all others, mean "
                  "of sources; null: not tried",
                  [](const T& of) { return *BandIn(of)->held; })
        .NullUnless([](const T& of) { return BandIn(of) && BandIn(of)->held; });
}

compared::Kind
KindIn(const ComparedStep& step)
{
    return compared::KindOf(step.options);
}

const compared::Kind&
KindIn(const ComparedNumber& number)
{
    return number.kind;
}

template <typename T>
Key<T>
FacetKey(const char* words, const char* facet)
{
    return {words, [facet](const T& of) { return compared::FacetOf(KindIn(of), facet); }};
}

} // namespace

const Object<ComparedStep>&
ComparedKeys()
{
    using T = ComparedStep;
    static const Object<T> keys{
        FacetKey<T>("software: Whose software it is by --recipe", "software"),
        FacetKey<T>("generation: Generation of the GPU; empty: none that is known", "generation"),
        FacetKey<T>("precision: Precision of matrix products", "precision"),
        FacetKey<T>("model: Class of the model", "model"),
        FacetKey<T>("scale: Number of GPUs", "scale"),
        LikeKey<T>(),
        RowsKey<T>(),
        SourcesKey<T>(),
        ShareKey<T>(),
        HeldKey<T>(),
        OfBand<T>("step_time_low_us (us): Lower end of the band around step_time_us",
                  [](const Band& band, const T& s) { return s.stepUs * band.least; }),
        OfBand<T>("step_time_high_us (us): Its upper end",
                  [](const Band& band, const T& s) { return s.stepUs * band.most; })};
    return keys;
}

const Object<ComparedNumber>&
ComparedNumberKeys()
{
    using T = ComparedNumber;
    static const Object<T> keys{
        {"metric: What is compared", [](const T& n) { return std::string(n.metric); }},
        FacetKey<T>("software: The engine, whatever its version", "software"),
        FacetKey<T>("generation: Generation of the GPU; empty: none that is known", "generation"),
        FacetKey<T>("model: Class of the model", "model"),
        LikeKey<T>(),
        RowsKey<T>(),
        SourcesKey<T>(),
        ShareKey<T>(),
        HeldKey<T>(),
        OfBand<T>("low: Lower end of the band, in the unit of the value",
                  [](const Band& band, const T& n) { return n.value * band.least; }),
        OfBand<T>("high: Its upper end",
                  [](const Band& band, const T& n) { return n.value * band.most; })};
    return keys;
}

namespace
{

/// A value that its own band does not hold: which way such simulations were wrong.
std::string
OneSided(const Band& band)
{
    if (band.least <= 1 && band.most >= 1)
    {
        return "";
    }
    const bool longer = band.least > 1;
    const double near = 100 * std::abs((longer ? band.least : band.most) - 1);
    const double far = 100 * std::abs((longer ? band.most : band.least) - 1);
    return Format(". These were %.0f to %.0f%% %s than their simulations, so expect the band.",
                  near,
                  far,
                  longer ? "more" : "less");
}

} // namespace

std::string
BandWords(const Band& band)
{
    const bool one = band.sources == 1;
    const std::string unit = band.unit == "series" || one ? band.unit : band.unit + "s";
    const bool any = compared::FacetOf(band.of, "software").empty();
    return Format("%.0f%% band of %u measured", 100 * band.share, band.rows) + " of " +
           std::to_string(band.sources) + " " + unit + " (" + (any ? "any software, " : "") +
           compared::KindText(band.of) + ")" + OneSided(band);
}

std::string
BandText(const ComparedStep& step, const std::vector<Band>& groups)
{
    const Band* band = compared::BandOf(step.options, groups);
    if (!band)
    {
        const auto kind = compared::KindOf(step.options);
        return step.options.profile ? "unknown: measured times came from a profile"
               : compared::FacetOf(kind, "generation").empty()
                   ? "unknown: no published step of this GPU was compared"
                   : "unknown: no rows like this (" + compared::KindText(kind) + ")";
    }
    std::string text =
        HumanTime(step.stepUs * band->least) + " to " + HumanTime(step.stepUs * band->most);
    if (step.mfu > 0)
    {
        text += Format(", MFU %.1f to %.1f%%",
                       100 * step.mfu / band->most,
                       100 * step.mfu / band->least);
    }
    return text + ": " + BandWords(*band);
}

} // namespace reports
