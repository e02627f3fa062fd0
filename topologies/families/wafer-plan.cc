/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/families/wafer-plan.h"

#include "topologies/names.h"

#include <algorithm>
#include <charconv>

namespace topo
{

namespace
{

constexpr const char* kWaferHelp = "columns x rows @ rate, delay, such as 5x4@750GBps,20ns";
constexpr const char* kWaferIoHelp = "ports @ rate, delay, such as 18@128GBps,100ns";

struct WaferPreset
{
    const char* name;
    const char* wafer;
    const char* io;
    const char* basis;
};

constexpr WaferPreset kWaferPresets[] = {
    {"fred-baseline",
     "5x4@750GBps,20ns",
     "18@128GBps,20ns",
     "assumed, after the mesh that FRED is compared with (arXiv 2406.19580)"},
    // Fabric of 214 Pb/s and 900,000 cores (Cerebras, WSE-3): 238 Gb/s a core, 29.7 Gb/s for each
    // of 4 links and 2 directions. 900,000 / 84 cores a die: 103.5 along an edge, 3.08 Tb/s.
    {"cerebras-like",
     "12x7@385GBps,20ns",
     "12@12.5GBps,1us",
     "assumed: 84 parts alike, the rate from 214 Pb/s of all cores' links; a real one is a mesh of "
     "cores"},
    // Dojo System v25 (Tesla, Hot Chips 34): 25 D1 and 40 I/O dies; 10 TB/s across the middle of a
    // tile, which cuts 5 links; 9 TB/s an edge, which 10 I/O dies share.
    {"dojo-tile",
     "5x5@2TBps,20ns",
     "40@900GBps,100ns",
     "rates of Tesla's Hot Chips 34 slides (10 TB/s across the tile, 9 TB/s an edge); delays "
     "assumed"},
};

const WaferPreset*
FindPreset(const std::string& name)
{
    const auto found = std::find_if(std::begin(kWaferPresets),
                                    std::end(kWaferPresets),
                                    [&](const WaferPreset& p) { return SameName(name, p.name); });
    return found == std::end(kWaferPresets) ? nullptr : found;
}

std::vector<std::string>
PresetNames()
{
    std::vector<std::string> names;
    for (const WaferPreset& preset : kWaferPresets)
    {
        names.emplace_back(preset.name);
    }
    return names;
}

/// A whole number of digits alone.
std::optional<uint32_t>
DieNumber(const std::string& text)
{
    uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, bad] = std::from_chars(text.data(), end, number);
    return bad == std::errc() && stop == end && !text.empty() ? std::optional<uint32_t>(number)
                                                              : std::nullopt;
}

} // namespace

uint32_t
WaferPlan::Living() const
{
    return static_cast<uint32_t>(std::count(dead.begin(), dead.end(), false));
}

std::optional<uint32_t>
WaferPlan::Next(uint32_t die, bool alongX) const
{
    const uint32_t column = die % x.size;
    const uint32_t row = die / x.size % y.size;
    if (alongX)
    {
        return column + 1 < x.size ? std::optional<uint32_t>(die + 1) : std::nullopt;
    }
    return row + 1 < y.size ? std::optional<uint32_t>(die + x.size) : std::nullopt;
}

uint32_t
WaferPlan::DieOfPort(uint32_t port) const
{
    const uint32_t places = 2 * (x.size + y.size);
    uint32_t at = static_cast<uint32_t>(uint64_t{port} * places / ioPorts);
    if (at < x.size)
    {
        return at;
    }
    at -= x.size;
    if (at < y.size)
    {
        return at * x.size + x.size - 1;
    }
    at -= y.size;
    if (at < x.size)
    {
        return (y.size - 1) * x.size + x.size - 1 - at;
    }
    return (y.size - 1 - (at - x.size)) * x.size;
}

uint32_t
WaferPlan::PortsOfDie() const
{
    std::vector<uint32_t> ports(PerWafer(), 0);
    for (uint32_t port = 0; wafers > 1 && port < ioPorts; ++port)
    {
        ++ports[DieOfPort(port)];
    }
    return *std::max_element(ports.begin(), ports.end());
}

std::optional<std::vector<Dimension>>
WaferPlan::Box() const
{
    uint32_t left = x.size;
    uint32_t right = 0;
    uint32_t top = y.size;
    uint32_t bottom = 0;
    for (uint32_t die = 0; die < Dies(); ++die)
    {
        if (!dead[die])
        {
            left = std::min(left, die % x.size);
            right = std::max(right, die % x.size);
            top = std::min(top, die / x.size);
            bottom = std::max(bottom, die / x.size);
        }
    }
    std::vector<Dimension> box = {x, y};
    box[0].size = right - left + 1;
    box[1].size = bottom - top + 1;
    const bool isBox = wafers == 1 && deadLinks.empty() && NodesOf(box) == Living() && Living() > 0;
    return isBox ? std::optional<std::vector<Dimension>>(box) : std::nullopt;
}

uint32_t
WaferPlan::Nics() const
{
    const auto box = Box();
    return box ? (*box)[0].Ports() + (*box)[1].Ports() : x.Ports() + y.Ports() + PortsOfDie();
}

namespace
{

/// Reads a plan; what is wrong becomes errors.
class WaferReader
{
  public:
    WaferReader(const TopologyRequest& request, std::vector<Error>* errors)
        : m_request(request),
          m_errors(*errors)
    {
    }

    std::optional<WaferPlan> Read()
    {
        if (!ReadMesh() || !ReadIo() || !CheckSize() || !ReadDead() || !ReadDeadLinks() ||
            !CheckJoined())
        {
            return std::nullopt;
        }
        return std::move(m_plan);
    }

  private:
    bool Fail(const char* name, const std::string& value, const std::string& problem)
    {
        m_errors.push_back({name, value, problem, ""});
        return false;
    }

    std::string Text(const char* name) const
    {
        return m_request.parameters.Text(name);
    }

    bool ReadMesh()
    {
        const std::string given = Text(kWafer);
        if (given.empty())
        {
            return Fail(kWafer,
                        "",
                        std::string("is needed; allowed: ") + kWaferHelp + ", or " +
                            JoinNames(PresetNames()));
        }
        m_preset = FindPreset(given);
        m_plan.text = m_preset ? m_preset->wafer : given;
        if (m_preset)
        {
            m_plan.notes.push_back(std::string("--wafer=") + m_preset->name + " is " +
                                   m_preset->wafer + " and I/O of " + m_preset->io + ": " +
                                   m_preset->basis);
        }
        const std::string sizes = m_plan.text.substr(0, m_plan.text.find('@'));
        if (!ParseSizes(sizes, 1) || PartsOf(sizes, 'x').size() != 2)
        {
            return Fail(kWafer,
                        Quoted(given),
                        "is no wafer" + DidYouMean(given, PresetNames()) +
                            "; allowed: " + kWaferHelp + ", or " + JoinNames(PresetNames()));
        }
        std::string problem;
        const auto lines = ParseDimensions("mesh:" + m_plan.text, &problem);
        if (!lines || lines->size() != 2)
        {
            return Fail(kWafer,
                        Quoted(given),
                        lines ? std::string("is no wafer; allowed: ") + kWaferHelp : problem);
        }
        m_plan.x = (*lines)[0];
        m_plan.y = (*lines)[1];
        for (Dimension* one : {&m_plan.x, &m_plan.y})
        {
            one->rate = one->rate.bps ? one->rate : m_request.linkRate;
            one->delay = one->delay.value_or(m_request.linkDelay);
        }
        m_plan.wafers = static_cast<uint32_t>(m_request.parameters.Count(kWafers));
        return true;
    }

    bool ReadIo()
    {
        std::string text = Text(kWaferIo);
        text = text.empty() && m_preset ? m_preset->io : text;
        if (text.empty())
        {
            return m_plan.wafers == 1 ||
                   Fail(kWafers,
                        std::to_string(m_plan.wafers),
                        "wafers are joined by their I/O ports; allowed with --wafer-io=" +
                            std::string(kWaferIoHelp));
        }
        const auto ports = DieNumber(text.substr(0, text.find('@')));
        std::string problem;
        const auto io = ParseDimensions("line:" + text, &problem);
        if (!ports || *ports == 0 || !io)
        {
            return Fail(kWaferIo,
                        Quoted(text),
                        ports && *ports && !problem.empty()
                            ? problem
                            : std::string("is no number of I/O ports; allowed: ") + kWaferIoHelp);
        }
        m_plan.ioPorts = *ports;
        m_plan.ioText = text;
        m_plan.io = io->front();
        m_plan.io.rate = m_plan.io.rate.bps ? m_plan.io.rate : m_plan.x.rate;
        m_plan.io.delay = m_plan.io.delay.value_or(m_request.linkDelay);
        if (m_plan.wafers == 1)
        {
            m_plan.notes.push_back(Counted(m_plan.ioPorts, "I/O port") +
                                   " of the wafer lead nowhere and are left out: with several "
                                   "wafers (--wafers=2) they join them");
        }
        return true;
    }

    bool CheckSize()
    {
        const uint64_t dies = uint64_t{m_plan.x.size} * m_plan.y.size * m_plan.wafers;
        if (dies > detail::kMostNodes / 2)
        {
            return Fail(kWafer,
                        Quoted(m_plan.text),
                        "is a network larger than " + detail::LargestNetwork());
        }
        m_plan.dead.assign(dies, false);
        return true;
    }

    /// Numbers of dies. \return nothing, with an error, if one is none
    std::optional<uint32_t> Die(const char* name, const std::string& text)
    {
        const auto die = DieNumber(text);
        if (!die || *die >= m_plan.Dies())
        {
            Fail(name,
                 Quoted(Text(name)),
                 "names no die: " + Quoted(text) + "; allowed: 0 to " +
                     std::to_string(m_plan.Dies() - 1));
            return std::nullopt;
        }
        return die;
    }

    bool ReadDead()
    {
        const std::string text = Text(kDead);
        for (const std::string& part : PartsOf(text, ','))
        {
            if (text.empty())
            {
                break;
            }
            const auto die = Die(kDead, part);
            if (!die)
            {
                return false;
            }
            if (m_plan.dead[*die])
            {
                return Fail(kDead, Quoted(text), "has die " + part + " twice");
            }
            m_plan.dead[*die] = true;
        }
        return m_plan.Living() > 1 ||
               (text.empty() ? Fail(kWafer, Quoted(m_plan.text), "is a single GPU, without a link")
                             : Fail(kDead,
                                    Quoted(text),
                                    m_plan.Living() == 0 ? "leaves no die alive"
                                                         : "leaves a single GPU, without a link"));
    }

    bool ReadDeadLinks()
    {
        const std::string text = Text(kDeadLinks);
        for (const std::string& part : PartsOf(text, ','))
        {
            if (text.empty())
            {
                return true;
            }
            const auto ends = PartsOf(part, '-');
            if (ends.size() != 2)
            {
                return Fail(kDeadLinks,
                            Quoted(text),
                            "names no link: " + Quoted(part) +
                                "; allowed: two neighbours, such as 4-5, with commas between "
                                "several");
            }
            const auto a = Die(kDeadLinks, ends[0]);
            const auto b = a ? Die(kDeadLinks, ends[1]) : std::nullopt;
            if (!b)
            {
                return false;
            }
            const DiePair pair = std::minmax(*a, *b);
            const auto right = m_plan.Next(pair.first, true);
            const auto below = m_plan.Next(pair.first, false);
            if (right != pair.second && below != pair.second)
            {
                return Fail(kDeadLinks,
                            Quoted(text),
                            "dies " + ends[0] + " and " + ends[1] +
                                " are no neighbours; allowed: die n and n+1 of a row, or n and n+" +
                                std::to_string(m_plan.x.size) + " of a wafer");
            }
            m_plan.deadLinks.insert(pair);
        }
        return true;
    }

    /// Whether the living dies reach each other.
    bool CheckJoined()
    {
        std::vector<std::vector<uint32_t>> neighbours(m_plan.Dies());
        const auto join = [&](uint32_t a, uint32_t b) {
            neighbours[a].push_back(b);
            neighbours[b].push_back(a);
        };
        for (uint32_t die = 0; die < m_plan.Dies(); ++die)
        {
            for (const bool alongX : {true, false})
            {
                const auto next = m_plan.Next(die, alongX);
                if (next && m_plan.HasLink(die, *next))
                {
                    join(die, *next);
                }
            }
        }
        for (uint32_t port = 0; m_plan.wafers > 1 && port < m_plan.ioPorts; ++port)
        {
            std::optional<uint32_t> last;
            for (uint32_t w = 0; w < m_plan.wafers; ++w)
            {
                const uint32_t die = w * m_plan.PerWafer() + m_plan.DieOfPort(port);
                if (!m_plan.dead[die])
                {
                    if (last)
                    {
                        join(*last, die);
                    }
                    last = die;
                }
            }
        }
        const auto first = static_cast<uint32_t>(
            std::find(m_plan.dead.begin(), m_plan.dead.end(), false) - m_plan.dead.begin());
        std::vector<bool> reached(m_plan.Dies(), false);
        std::vector<uint32_t> queue(1, first);
        reached[first] = true;
        for (std::size_t i = 0; i < queue.size(); ++i)
        {
            for (const uint32_t next : neighbours[queue[i]])
            {
                if (!reached[next])
                {
                    reached[next] = true;
                    queue.push_back(next);
                }
            }
        }
        for (uint32_t die = 0; die < m_plan.Dies(); ++die)
        {
            if (!m_plan.dead[die] && !reached[die])
            {
                const char* const name = Text(kDead).empty() ? kDeadLinks : kDead;
                const uint64_t others = m_plan.Living() - queue.size() - 1;
                return Fail(name,
                            Quoted(Text(name)),
                            "cuts die " + std::to_string(die) +
                                (others ? " and " + Counted(others, "other") : "") +
                                " off from die " + std::to_string(first) +
                                "; allowed: what leaves the living dies joined");
            }
        }
        return true;
    }

    const TopologyRequest& m_request;
    std::vector<Error>& m_errors;
    WaferPlan m_plan;
    const WaferPreset* m_preset = nullptr;
};

} // namespace

std::optional<WaferPlan>
ReadWafer(const TopologyRequest& request, std::vector<Error>* errors)
{
    return WaferReader(request, errors).Read();
}

} // namespace topo
