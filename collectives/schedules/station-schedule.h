/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Chunks going up trees of stations (station-plan.h) and down again: all-reduce; up alone:
 * reduce-scatter; down alone: all-gather. A lane is a tree.
 *
 *     up      a station adds up what its children send, one after the other, and sends the sum to
 *             its parent; with no bytes of its own it takes the first as it comes
 *     down    what comes from the parent goes on to the children
 *
 * **Order.** A lane does its steps strictly in order, so the order has to keep several chunks under
 * way. With H the depth of the tree and L = kLag / 2, a station at depth d does
 *
 *     up of chunk t in slot    t + L (H - d)         so what it waits for was sent L slots earlier,
 *     down of chunk t in slot  t + L (H + d)         by its children, or by its parent
 *
 * (a switch of a server is two members, one that adds up and one that copies), and in a slot what
 * has come up before what has gone down, of several stations of a member the one whose chunk is
 * latest first. No receive waits for a later slot, so nothing waits for ever; and each message
 * crosses the same number of slots, so that a member's messages to another are received in the
 * order in which they are sent. Where every member is one station, down lags behind up by kLag d
 * chunks, as in tree-schedule.h.
 *
 *     slot                 0  1  2  3  4  5  6  7  8  9
 *     leaf (d = 2)     up  0  1  2  3  4  5  6  7  8  9 ...            `nvls`, H = 2, kLag = 4
 *                    down                          0  1
 *     switch (d = 1)   up        0  1  2  3  4  5  6  7
 *                    down                    0  1  2  3
 *     head (d = 0)   both              0  1  2  3  4  5
 *
 * **Room.** A member does all of a chunk's up, or down, in a slot, before it takes the next: so in
 * its program's order a network node holds one chunk a lane at once (StateBytes, proved by the
 * checker).
 *
 * Cost. H is the depth of the deepest tree, C the chunks.
 *
 *  - Bytes: a piece crosses each link of its tree once up and once down.
 *  - Chain: up H, down H; more with more chunks, since what a member sends comes after what it has
 *    received before. From something of slot offset a it can go on, a slot later at least, with
 *    something of offset a - L g of a later chunk: g more messages for L g + 1 chunks, g an even
 *    number up to G. All-reduce: G = 2 H, a leaf's down and then its up. One way: G is between the
 *    stations of one rank: 2 with a head above a switch, else 0. C - 1 chunks are spent on q turns
 *    of G, q = floor((C-1) / (L G + 1)), and what they leave, r > 0, on one more:
 *
 *        J = q G + 2 floor((r - 1) / kLag),    chain = 2 H + J (one way: H + J)
 *
 *  - Time in bytes: the first chunk crosses level by level what its ports take (a switch has a port
 *    for each neighbour, so only ranks have to serve several in turn), then the busiest port
 *    carries the rest.
 */
#ifndef COLLECTIVES_SCHEDULES_STATION_SCHEDULE_H
#define COLLECTIVES_SCHEDULES_STATION_SCHEDULE_H

#include "collectives/core/partition.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/station-plan.h"

namespace coll
{

class StationSchedule final : public Schedule
{
  public:
    /// Precondition: the plan has no problem. Its operation is all-reduce, reduce-scatter or
    /// all-gather.
    explicit StationSchedule(const StationPlan& plan);

    Lane Lanes(Rank member) const override;
    StepIndex Steps(Rank member, Lane lane) const override;
    Step At(Rank member, Lane lane, StepIndex k) const override;
    uint32_t Channel(Lane lane) const override;
    uint64_t StateBytes(Rank node) const override;
    uint64_t PartsOfMessage() const override;

    static Cost CostOf(const StationPlan& plan, const Placement& placement);

  private:
    /// A station as its steps need it.
    struct Node
    {
        Rank parent;         ///< a member, on the way up
        Rank parentDown;     ///< and down
        uint32_t firstChild; ///< into m_children and m_childrenDown
        uint32_t children;
        bool contributes;
    };

    /// An action of a member for each chunk: up or down of a station.
    struct Action
    {
        uint32_t node;
        bool up;
    };

    /// When a member does it: alike for many.
    struct Timing
    {
        uint32_t offset; ///< slot of chunk 0
        uint32_t steps;  ///< number of steps for a chunk

        bool operator<(const Timing& other) const
        {
            return std::pair(offset, steps) < std::pair(other.offset, other.steps);
        }
    };

    /// Slots in which the same actions are under way.
    struct Segment
    {
        StepIndex begin;
        uint32_t slot;
        uint32_t first; ///< action
        Divider byStepsOfSlot;
        uint32_t stepsOfSlot;
    };

    struct Program
    {
        std::vector<Timing> timings; ///< by action, in the order of a slot
        std::vector<Segment> segments;
        StepIndex steps = 0;
    };

    /// A member's part in a lane.
    struct Part
    {
        uint32_t program = 0;
        uint32_t firstAction = 0; ///< into m_actions
    };

    void Build(const StationTree& tree,
               Part* parts,
               std::map<std::vector<Timing>, uint32_t>* known);
    Program ProgramOf(const std::vector<Timing>& timings) const;
    Step Up(const Node& node, uint32_t i, const Range& chunk) const;
    Step Down(const Node& node, uint32_t i, const Range& chunk) const;

    bool m_up;
    bool m_down;
    uint32_t m_chunks;
    Grid m_grid; ///< pieces, in chunks
    std::vector<uint32_t> m_pieceOf;
    std::vector<uint32_t> m_channelOf;
    std::vector<Node> m_stations;
    std::vector<Rank> m_children; ///< members, on the way up
    std::vector<Rank> m_childrenDown;
    std::vector<Action> m_actions;
    std::vector<Program> m_programs;
    std::vector<Part> m_parts;          ///< lane by lane, by member
    std::vector<uint64_t> m_stateBytes; ///< by network node
};

/// Its plan says what an algorithm is.
class StationAlgorithm final : public OneOpAlgorithm
{
  public:
    /// Makes the plan of a well-formed collective (Problem(), placement.h).
    using Plan = StationPlan (*)(const Collective& what,
                                 const Placement& placement,
                                 const AlgorithmOptions& options);

    StationAlgorithm(const std::string& name,
                     Op op,
                     const std::string& description,
                     InNetwork uses,
                     Plan plan,
                     AlgorithmFacts facts = {});

    InNetwork Uses() const override;
    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;
    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override;
    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override;

  private:
    InNetwork m_uses;
    Plan m_plan;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_STATION_SCHEDULE_H
