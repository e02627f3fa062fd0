/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure a simulated number is: where measured ones like it lay, beside their own simulations.
 *
 * scenarios/zoo/bands.json has the groups; scripts/published --update writes it from runs of all
 * tables of measurements. A group has facets in common ("software": "nanotron"), and factors,
 * measured over simulated. Its band holds 80% of a further row's factors:
 *
 *   Rows of one source (a page, a series) err alike, so sources count, not rows: each of K sources
 *   weighs 1 / (K + 1), shared out among its rows, and a source that nobody has seen the rest. The
 *   band is the smallest around the median whose weight is 0.8 or more (Lee, Barber, Willett,
 *   "Distribution-free inference with hierarchical data", arXiv 2306.06342, section 3; distances
 *   below and above the median are each in units of their own quartile). Fewer than six sources
 *   have none: such a band would be as wide as its worst row.
 */
#ifndef SCENARIOS_COMPARED_BAND_H
#define SCENARIOS_COMPARED_BAND_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace compared
{

/// Facets and their values, in the order in which a text has them: {{"software", "nanotron"}, ...}.
/// An empty value: not known, which no group has.
using Kind = std::vector<std::pair<std::string, std::string>>;

/// The value of a facet; empty: it has none.
std::string FacetOf(const Kind& kind, std::string_view facet);

/// "nanotron, Hopper, 16 bits, dense transformer".
std::string KindText(const Kind& kind);

/// Measurements of a kind.
struct Band
{
    std::string metric; ///< "step", "output tokens/s"
    Kind of;            ///< what all have in common; other facets are of any value
    uint32_t rows = 0;
    uint32_t sources = 0; ///< or series of one source
    std::string unit;     ///< what `sources` counts: "source", "series"
    double least = 1;     ///< of measured over simulated values
    double most = 1;
    double share = 0; ///< of a further row's chance to lie between them, at least
    /// Share of the rows of a source that lay in the band of all others, mean of sources. None: not
    /// tried.
    std::optional<double> held;
};

/// All groups, the narrowest first.
const std::vector<Band>& Bands();

/// The first group of a metric whose facets are all those of the kind. Null: no rows like this.
const Band* FindBand(std::string_view metric,
                     const Kind& kind,
                     const std::vector<Band>& groups = Bands());

} // namespace compared

#endif // SCENARIOS_COMPARED_BAND_H
