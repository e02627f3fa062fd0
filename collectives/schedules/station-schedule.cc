/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/station-schedule.h"

#include "collectives/core/looped-schedule.h"
#include "collectives/schedules/tree-schedule.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

namespace coll
{

namespace
{

static_assert(kLag % 2 == 0);
constexpr uint32_t kSlotsOfHop = kLag / 2;

bool
GoesUp(Op op)
{
    return op != Op::kAllGather;
}

bool
GoesDown(Op op)
{
    return op != Op::kReduceScatter;
}

/// By station: messages from the root.
std::vector<uint32_t>
Depths(const StationTree& tree)
{
    std::vector<uint32_t> depths;
    for (const Station& station : tree.stations)
    {
        depths.push_back(station.parent == Station::kNone ? 0 : depths[station.parent] + 1);
    }
    return depths;
}

} // namespace

StationSchedule::StationSchedule(const StationPlan& plan)
    : Schedule(plan.what),
      m_up(GoesUp(plan.what.op)),
      m_down(GoesDown(plan.what.op)),
      m_chunks(plan.chunks),
      m_grid(plan.what.bytes, plan.pieces, plan.chunks),
      m_parts(plan.trees.size() * plan.Members()),
      m_stateBytes(plan.nodes.size(), 0)
{
    m_networkNodes = plan.nodes;
    m_programs.emplace_back(); // the program of members without a part in a lane
    std::map<std::vector<Timing>, uint32_t> known;
    for (size_t lane = 0; lane < plan.trees.size(); lane++)
    {
        const StationTree& tree = plan.trees[lane];
        m_pieceOf.push_back(tree.piece);
        m_channelOf.push_back(tree.channel);
        Build(tree, m_parts.data() + lane * Members(), &known);
        for (const Station& station : tree.stations)
        {
            for (const Rank member : {station.member, station.copier})
            {
                if (member != kNoRank && member >= m_what.ranks)
                {
                    m_stateBytes[member - m_what.ranks] += plan.LargestChunk(tree);
                }
            }
        }
    }
}

void
StationSchedule::Build(const StationTree& tree,
                       Part* parts,
                       std::map<std::vector<Timing>, uint32_t>* known)
{
    const auto count = static_cast<uint32_t>(tree.stations.size());
    const auto firstNode = static_cast<uint32_t>(m_stations.size());
    const auto depths = Depths(tree);
    const uint32_t height = *std::max_element(depths.begin(), depths.end());
    for (const Station& station : tree.stations)
    {
        const bool root = station.parent == Station::kNone;
        m_stations.push_back({root ? kNoRank : tree.stations[station.parent].member,
                              root ? kNoRank : tree.stations[station.parent].Down(),
                              0,
                              0,
                              station.contributes});
        if (!root)
        {
            m_stations[firstNode + station.parent].children++;
        }
    }
    auto child = static_cast<uint32_t>(m_children.size());
    m_children.resize(child + count - 1);
    m_childrenDown.resize(m_children.size());
    for (uint32_t i = 0; i < count; i++)
    {
        m_stations[firstNode + i].firstChild = child;
        child += m_stations[firstNode + i].children;
    }
    std::vector<uint32_t> placed(count, 0);
    for (uint32_t i = 1; i < count; i++)
    {
        const uint32_t parent = tree.stations[i].parent;
        const uint32_t place = m_stations[firstNode + parent].firstChild + placed[parent]++;
        m_children[place] = tree.stations[i].member;
        m_childrenDown[place] = tree.stations[i].Down();
    }

    struct Timed
    {
        Timing timing;
        Action action;
    };

    std::map<Rank, std::vector<Timed>> timedOf; // by member
    for (uint32_t i = 0; i < count; i++)
    {
        const Station& station = tree.stations[i];
        const uint32_t number = firstNode + i;
        const uint32_t steps = std::max(m_stations[number].children, 1U);
        if (m_up)
        {
            timedOf[station.member].push_back(
                {{kSlotsOfHop * (height - depths[i]), steps}, {number, true}});
        }
        if (m_down)
        {
            timedOf[station.Down()].push_back(
                {{kSlotsOfHop * (height + depths[i]), steps}, {number, false}});
        }
    }
    for (auto& [member, timed] : timedOf)
    {
        // At equal offsets `up` comes first: at the root.
        std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
            return a.timing.offset < b.timing.offset;
        });
        Part& part = parts[member];
        part.firstAction = static_cast<uint32_t>(m_actions.size());
        const uint32_t begin = timed.front().timing.offset;
        std::vector<Timing> timings;
        for (const Timed& one : timed)
        {
            timings.push_back({one.timing.offset - begin, one.timing.steps});
            m_actions.push_back(one.action);
        }
        const auto [found, isNew] =
            known->try_emplace(timings, static_cast<uint32_t>(m_programs.size()));
        if (isNew)
        {
            m_programs.push_back(ProgramOf(timings));
        }
        part.program = found->second;
    }
}

StationSchedule::Program
StationSchedule::ProgramOf(const std::vector<Timing>& timings) const
{
    Program program;
    program.timings = timings;
    std::vector<uint32_t> borders;
    for (const Timing& timing : timings)
    {
        borders.push_back(timing.offset);
        borders.push_back(timing.offset + m_chunks);
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t b = 0; b + 1 < borders.size(); b++)
    {
        const uint32_t slot = borders[b];
        // Offsets ascend and all last as long, so those under way stand together.
        uint32_t first = 0;
        while (timings[first].offset + m_chunks <= slot)
        {
            first++;
        }
        uint32_t steps = 0;
        for (uint32_t i = first; i < timings.size() && timings[i].offset <= slot; i++)
        {
            steps += timings[i].steps;
        }
        if (steps > 0)
        {
            program.segments.push_back({program.steps, slot, first, Divider(steps), steps});
            program.steps += steps * (borders[b + 1] - slot);
        }
    }
    return program;
}

Lane
StationSchedule::Lanes(Rank /* member */) const
{
    return static_cast<Lane>(m_pieceOf.size());
}

uint32_t
StationSchedule::Channel(Lane lane) const
{
    return m_channelOf[lane];
}

uint64_t
StationSchedule::PartsOfMessage() const
{
    return std::max<uint64_t>(m_pieceOf.size(), 1) * m_chunks;
}

uint64_t
StationSchedule::StateBytes(Rank node) const
{
    return node < m_what.ranks ? 0 : m_stateBytes[node - m_what.ranks];
}

StepIndex
StationSchedule::Steps(Rank member, Lane lane) const
{
    return m_programs[m_parts[lane * static_cast<size_t>(Members()) + member].program].steps;
}

Step
StationSchedule::At(Rank member, Lane lane, StepIndex k) const
{
    const Part& part = m_parts[lane * static_cast<size_t>(Members()) + member];
    const Program& program = m_programs[part.program];
    const Segment* segment = program.segments.data();
    for (const Segment& other : program.segments)
    {
        if (other.begin <= k)
        {
            segment = &other;
        }
    }
    const auto past = static_cast<uint32_t>(segment->byStepsOfSlot(k - segment->begin));
    uint32_t i = k - segment->begin - past * segment->stepsOfSlot;
    uint32_t a = segment->first;
    while (i >= program.timings[a].steps)
    {
        i -= program.timings[a++].steps;
    }
    const Action& action = m_actions[part.firstAction + a];
    const Range chunk =
        m_grid.Part(m_pieceOf[lane], segment->slot + past - program.timings[a].offset);
    const Node& node = m_stations[action.node];
    return action.up ? Up(node, i, chunk) : Down(node, i, chunk);
}

Step
StationSchedule::Up(const Node& node, uint32_t i, const Range& chunk) const
{
    const bool last = i + 1 >= node.children;
    Step step = PassOn(i < node.children ? m_children[node.firstChild + i] : kNoRank,
                       last ? node.parent : kNoRank,
                       chunk);
    step.reduce = step.recvPeer != kNoRank && (i > 0 || node.contributes);
    return step;
}

Step
StationSchedule::Down(const Node& node, uint32_t i, const Range& chunk) const
{
    return PassOn(i == 0 ? node.parentDown : kNoRank,
                  i < node.children ? m_childrenDown[node.firstChild + i] : kNoRank,
                  chunk);
}

namespace
{

/// The bytes on members' ports and links.
struct Tally
{
    explicit Tally(uint32_t ranks)
        : sent(ranks, 0),
          received(ranks, 0),
          messages(ranks, 0),
          arrivals(ranks, 0),
          reduced(ranks, 0)
    {
    }

    std::vector<uint64_t> sent; ///< by rank, bytes
    std::vector<uint64_t> received;
    std::vector<uint64_t> messages; ///< sent, of a chunk
    std::vector<uint64_t> arrivals; ///< received, of a chunk
    std::vector<uint64_t> reduced;
    std::unordered_map<uint32_t, uint64_t> outOf; ///< by server
    std::unordered_map<uint32_t, uint64_t> into;
};

uint64_t
Most(const std::vector<uint64_t>& values)
{
    return *std::max_element(values.begin(), values.end());
}

/// Bytes that a level's ports carry of chunks, in either direction.
struct LevelLoad
{
    std::unordered_map<Rank, double> above; ///< by rank, to those below
    std::unordered_map<Rank, double> below; ///< by rank, to those above
    double between = 0;                     ///< switches

    double Most() const
    {
        double most = between;
        for (const auto* ports : {&above, &below})
        {
            for (const auto& [rank, bytes] : *ports)
            {
                most = std::max(most, bytes);
            }
        }
        return most;
    }
};

/// The server a member is in; Station::kNone: in none.
uint32_t
ServerOf(Rank member, const StationPlan& plan, const Placement& placement)
{
    if (member < plan.what.ranks)
    {
        return placement.serverOf[member];
    }
    const NetworkNode& node = plan.nodes[member - plan.what.ranks];
    return node.kind == NetworkNode::kFabricSwitch ? Station::kNone : node.where;
}

/// Messages that more chunks add to the longest chain of one; `most` at once, see the header.
uint64_t
MoreOfChain(uint64_t chunks, uint64_t most)
{
    if (most == 0)
    {
        return 0;
    }
    const uint64_t turn = kSlotsOfHop * most + 1;
    const uint64_t rest = (chunks - 1) % turn;
    return (chunks - 1) / turn * most + (rest > 0 ? 2 * ((rest - 1) / kLag) : 0);
}

} // namespace

Cost
StationSchedule::CostOf(const StationPlan& plan, const Placement& placement)
{
    Cost cost;
    cost.chainOutside = 0;
    if (plan.trees.empty())
    {
        return cost;
    }
    const bool up = GoesUp(plan.what.op);
    const bool down = GoesDown(plan.what.op);
    const Rank ranks = plan.what.ranks;
    Tally tally(ranks);
    std::vector<LevelLoad> levels;
    const auto send = [&](Rank from, Rank to, uint64_t bytes) {
        cost.totalBytes += bytes;
        if (from < ranks)
        {
            tally.sent[from] += bytes;
            tally.messages[from]++;
        }
        if (to < ranks)
        {
            tally.received[to] += bytes;
            tally.arrivals[to]++;
        }
        const uint32_t leaves = ServerOf(from, plan, placement);
        const uint32_t enters = ServerOf(to, plan, placement);
        if (leaves != Station::kNone && leaves != enters)
        {
            tally.outOf[leaves] += bytes;
        }
        if (enters != Station::kNone && leaves != enters)
        {
            tally.into[enters] += bytes;
        }
    };
    for (const StationTree& tree : plan.trees)
    {
        const uint64_t bytes = plan.BytesOf(tree);
        const double chunk = static_cast<double>(bytes) / plan.chunks;
        const auto depths = Depths(tree);
        std::vector<uint32_t> outside(depths.size(), 0); // hops to the root
        std::vector<uint32_t> children(depths.size(), 0);
        std::vector<uint32_t> last(ranks, Station::kNone); // depth of a rank's station before
        uint32_t height = 0;
        uint32_t heightOutside = 0;
        uint32_t between = 0; // the depths of two stations of a rank
        for (size_t i = 0; i < tree.stations.size(); i++)
        {
            const Station& station = tree.stations[i];
            if (station.member < ranks)
            {
                uint32_t& before = last[station.member];
                if (before != Station::kNone)
                {
                    between = std::max(between,
                                       std::max(depths[i], before) - std::min(depths[i], before));
                }
                before = depths[i];
            }
            if (station.parent == Station::kNone)
            {
                continue;
            }
            const Station& above = tree.stations[station.parent];
            const Rank parent = above.member;
            children[station.parent]++;
            outside[i] =
                outside[station.parent] +
                (ServerOf(station.member, plan, placement) != ServerOf(parent, plan, placement) ||
                         ServerOf(parent, plan, placement) == Station::kNone
                     ? 1
                     : 0);
            if (depths[i] > height || (depths[i] == height && outside[i] > heightOutside))
            {
                height = depths[i];
                heightOutside = outside[i];
            }
            levels.resize(std::max<size_t>(levels.size(), depths[i]));
            LevelLoad& level = levels[depths[i] - 1];
            if (station.member < ranks)
            {
                level.below[station.member] += chunk;
            }
            if (parent < ranks)
            {
                level.above[parent] += chunk;
            }
            level.between = std::max(level.between, chunk);
            if (up)
            {
                send(station.member, parent, bytes);
            }
            if (down)
            {
                send(above.Down(), station.Down(), bytes);
            }
        }
        for (size_t i = 0; i < tree.stations.size(); i++)
        {
            const Station& station = tree.stations[i];
            if (up && station.member < ranks && children[i] > 0)
            {
                tally.reduced[station.member] +=
                    bytes * (children[i] - (station.contributes ? 0 : 1));
            }
        }
        const uint64_t chain = (up && down ? 2 : 1) * uint64_t{height} +
                               MoreOfChain(plan.chunks, up && down ? 2 * height : between);
        if (chain > cost.chain)
        {
            cost.chain = chain;
            cost.chainOutside = (chain * heightOutside + height - 1) / height;
        }
    }
    cost.posts = Most(tally.messages) * plan.chunks;
    cost.receives = Most(tally.arrivals) * plan.chunks;
    cost.sentPerRank = static_cast<double>(Most(tally.sent));
    cost.reducedPerRank = static_cast<double>(Most(tally.reduced));
    for (const auto& [server, bytes] : tally.outOf)
    {
        cost.outOfServer = std::max(cost.outOfServer, static_cast<double>(bytes));
    }
    for (const auto& [server, bytes] : tally.into)
    {
        cost.intoServer = std::max(cost.intoServer, static_cast<double>(bytes));
    }
    double first = 0;
    for (const LevelLoad& level : levels)
    {
        first += (up && down ? 2 : 1) * level.Most();
    }
    const auto most = static_cast<double>(std::max(Most(tally.sent), Most(tally.received)));
    cost.serialBytes = std::max(most, first + most * (plan.chunks - 1) / plan.chunks);
    return cost;
}

StationAlgorithm::StationAlgorithm(const std::string& name,
                                   Op op,
                                   const std::string& description,
                                   InNetwork uses,
                                   Plan plan,
                                   AlgorithmFacts facts)
    : OneOpAlgorithm(name, op, description, std::move(facts)),
      m_uses(uses),
      m_plan(plan)
{
}

InNetwork
StationAlgorithm::Uses() const
{
    return m_uses;
}

std::string
StationAlgorithm::WhyNot(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options) const
{
    const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
    return why.empty() ? m_plan(what, placement, options).problem : why;
}

std::optional<Cost>
StationAlgorithm::CostOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options) const
{
    return StationSchedule::CostOf(m_plan(what, placement, options), placement);
}

std::unique_ptr<Schedule>
StationAlgorithm::Make(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const
{
    Require(what, placement, options);
    return std::make_unique<StationSchedule>(m_plan(what, placement, options));
}

} // namespace coll
