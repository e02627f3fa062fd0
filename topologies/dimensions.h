/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks as a product of dimensions, in one line of text:
 *
 *     ring:4@2400Gbps,50ns+fc:8@800Gbps,500ns+switch:4@400Gbps,2us
 *     '--------.--------'
 *     kind:size@rate,delay, the nearest first; rate and delay of every link, one way
 *
 *     ring     each is linked to the next, the last to the first
 *     line     the same without that last link
 *     fc       each is linked to all others ("fully connected")
 *     switch   each is linked to a switch of its own row
 *     torus:4x4x2, mesh:4x4   so many rings, or lines, of one rate and delay
 *
 * GPU number p has the coordinate (p / stride_d) mod n_d in dimension d; the first one changes
 * fastest.
 *
 * ASTRA-sim's words for the same (astra-sim/astra-network-analytical: Ring, FullyConnected, Switch)
 * are read as well: "Ring_FullyConnected_Switch" or a YAML file with lists of sizes, bandwidths
 * (GB/s, where a GB is 2^30 bytes there) and latencies (ns).
 */
#ifndef TOPOLOGIES_DIMENSIONS_H
#define TOPOLOGIES_DIMENSIONS_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

enum class DimensionKind : uint8_t
{
    kRing,
    kLine,
    kFull,
    kSwitch
};

struct Dimension
{
    DimensionKind kind = DimensionKind::kRing;
    uint32_t size = 1;
    rdma::BitRate rate; ///< of each link; 0: not said
    std::optional<rdma::Duration> delay;

    /// Links of a node in this dimension; a node at the end of a line has one of them.
    uint32_t Ports() const;
};

/// "ring", "line", "fc", "switch".
const char* KindText(DimensionKind kind);

/// Reads the text above. Nothing, with what is wrong in *problem ("names no kind of dimension: rng
/// (did you mean ring?)"), if it is none; also for a size of 0, more than kMostDimensions
/// dimensions, or rates and delays outside the limits.
std::optional<std::vector<Dimension>> ParseDimensions(const std::string& text,
                                                      std::string* problem);

/// The form that ParseDimensions takes, for people.
extern const char* const kDimensionsHelp;

/// The same as text: what is not said stays unsaid. It reads back as the same.
std::string DimensionsText(const std::vector<Dimension>& dimensions);

/// The same for people, with rates rounded.
std::string DimensionsName(const std::vector<Dimension>& dimensions);

/// "4x8x4": sizes alone, the nearest first.
std::string DimensionSizes(const std::vector<Dimension>& dimensions);

/// Nodes of all dimensions together; UINT64_MAX: more than 2^32.
uint64_t NodesOf(const std::vector<Dimension>& dimensions);

/// Whether a text is a word of ASTRA-sim for each dimension: "Ring_FullyConnected_Switch".
bool IsAstraWords(const std::string& text);

/// ASTRA-sim's description as text.
struct AstraWords
{
    std::vector<std::string> topology;   ///< "Ring", "FullyConnected", "Switch"
    std::vector<std::string> npus;       ///< "8"
    std::vector<std::string> bandwidths; ///< GB/s, 2^30 bytes
    std::vector<std::string> latencies;  ///< ns
};

/// Nothing, with what is wrong in *problem, if there are not as many of each, or one is none.
std::optional<std::vector<Dimension>> DimensionsOf(const AstraWords& words, std::string* problem);

/// "a_b_c" or "2,8,4" in parts.
std::vector<std::string> PartsOf(const std::string& text, char between);

} // namespace topo

#endif // TOPOLOGIES_DIMENSIONS_H
