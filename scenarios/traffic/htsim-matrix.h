/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Connection matrices of htsim and its descendants:
 *
 *     Nodes 16
 *     Connections 3
 *     Triggers 1
 *     0->5 id 1 start 0 size 2000000 send_done_trigger 1        start in ps
 *     5->9 id 2 trigger 1 size 1000                             when flow 1 is done
 *     7->2 start 1500 size 1000
 *     trigger id 1 oneshot
 *
 * As Broadcom/csg-htsim reads them, sim/datacenter/connection_matrix.cpp (20b22971): words with
 * blanks between them; `id`, `start` or `trigger`, `size`, `prio`, `send_done_trigger`,
 * `recv_done_trigger` in any order; lines that begin with '#' are remarks. `msg`, with or without a
 * number, as ultraethernet/uet-htsim has it: lines of one `id` are messages of one connection. A
 * trigger is oneshot (all its flows begin with its one call), multishot (a flow for each call) or a
 * barrier with a `count` of calls. Mistakes that end that reader are errors here, with their line.
 * So are link failures, `addon`, and flows without a size, which never end there.
 */
#ifndef SCENARIOS_TRAFFIC_HTSIM_MATRIX_H
#define SCENARIOS_TRAFFIC_HTSIM_MATRIX_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

struct HtsimFlow
{
    uint32_t src = 0; ///< below HtsimMatrix::nodes
    uint32_t dst = 0;
    uint64_t id = 0; ///< 0: it has none
    uint64_t bytes = 0;
    rdma::TimePoint start;
    uint64_t trigger = 0; ///< trigger that it waits for; 0: it starts at `start`
    /// Trigger that it calls when its source knows that all data have arrived; 0: none.
    uint64_t sendDone = 0;
    uint64_t recvDone = 0; ///< trigger that it calls when all data have arrived; 0: none
    /// The flow is a message of connection `id`; the number behind `msg`, 0: it has none.
    std::optional<uint64_t> message;
    uint64_t line = 0;
};

struct HtsimTrigger
{
    enum class Kind : uint8_t
    {
        kOneShot,
        kMultiShot,
        kBarrier,
    };

    Kind kind = Kind::kOneShot;
    uint64_t count = 0; ///< calls of a barrier
    uint64_t line = 0;
};

struct HtsimMatrix
{
    uint32_t nodes = 0;
    std::vector<HtsimFlow> flows; ///< in the order of the file
    std::map<uint64_t, HtsimTrigger> triggers;
    bool hasPriorities = false; ///< `prio`, which says nothing here
    std::string error;          ///< "a.cm:7: ..."; empty if the text is fine
};

/// Whether a text begins as one.
bool IsHtsimMatrix(const std::string& text);

HtsimMatrix ReadHtsimMatrix(const std::string& text, const std::string& origin);

/// A text that ReadHtsimMatrix and htsim read back.
std::string WriteHtsimMatrix(const HtsimMatrix& matrix);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_HTSIM_MATRIX_H
