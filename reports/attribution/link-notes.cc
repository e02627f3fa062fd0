/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/link-notes.h"

#include "reports/base/human-text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reports
{

namespace
{

std::string
TierText(uint32_t tier)
{
    return tier == 0 ? "hosts" : "tier " + std::to_string(tier);
}

void
Append(std::string& text, const std::string& more)
{
    if (text.find(more) == std::string::npos)
    {
        text += (text.empty() ? "" : "; ") + more;
    }
}

} // namespace

void
LinkNotes::Clear()
{
    m_faults.clear();
    m_busiest.clear();
}

void
LinkNotes::Add(Fault fault)
{
    std::sort(fault.ends.begin(), fault.ends.end());
    m_faults.push_back(std::move(fault));
}

void
LinkNotes::SetLoads(const std::vector<Load>& loads)
{
    struct Kind
    {
        uint32_t links{0};
        double sum{0};
        double most{0};
    };

    std::map<std::pair<uint32_t, uint32_t>, Kind> kinds;
    for (const Load& link : loads)
    {
        if (link.load > 0)
        {
            Kind& kind = kinds[{link.from, link.to}];
            ++kind.links;
            kind.sum += link.load;
            kind.most = std::max(kind.most, link.load);
        }
    }
    m_busiest.clear();
    for (const Load& link : loads)
    {
        const auto found = kinds.find({link.from, link.to});
        if (found == kinds.end() || link.load < found->second.most)
        {
            continue;
        }
        const Kind& kind = found->second;
        const double ofMean = kind.most * kind.links / kind.sum;
        if (ofMean < BUSY || kind.links < LEAST_LINKS)
        {
            continue;
        }
        m_busiest.resize(std::max<std::size_t>(m_busiest.size(), link.end + 1));
        m_busiest[link.end] = "busiest of " + std::to_string(kind.links) + " links from " +
                              TierText(link.from) + " to " + TierText(link.to) + ", " +
                              Format("%.1f", ofMean) + " times their mean";
    }
}

template <typename Filter>
std::string
LinkNotes::FaultsAt(uint32_t end, int64_t from, int64_t to, Filter which) const
{
    std::string text;
    for (const Fault& fault : m_faults)
    {
        if (fault.begin < to && from < fault.end &&
            std::binary_search(fault.ends.begin(), fault.ends.end(), end) && which(fault))
        {
            Append(text, fault.words);
        }
    }
    return text;
}

std::string
LinkNotes::FaultsOf(uint32_t end, int64_t from, int64_t to) const
{
    return FaultsAt(end, from, to, [](const Fault&) { return true; });
}

std::string
LinkNotes::SlowingFaultsOf(uint32_t end, int64_t from, int64_t to) const
{
    return FaultsAt(end, from, to, [](const Fault& fault) { return !fault.onlyLoses; });
}

std::string
LinkNotes::FaultsMetAt(uint32_t end, uint32_t src, uint32_t dst, int64_t from, int64_t to) const
{
    return FaultsAt(end, from, to, [pair = PairOf(src, dst)](const Fault& fault) {
        return !fault.onlyLoses ||
               std::find(fault.pairs.begin(), fault.pairs.end(), pair) != fault.pairs.end();
    });
}

std::string
LinkNotes::Of(uint32_t end, int64_t from, int64_t to) const
{
    std::string text = FaultsOf(end, from, to);
    if (end < m_busiest.size() && !m_busiest[end].empty())
    {
        Append(text, m_busiest[end]);
    }
    return text;
}

std::string
LinkNotes::Losses(int64_t from, int64_t to) const
{
    std::string text;
    for (const Fault& fault : m_faults)
    {
        if (fault.losesFrames && fault.begin < to && from < fault.end)
        {
            Append(text, fault.words);
        }
    }
    return text;
}

std::string
LinkNotes::Hitting(std::vector<uint64_t> Fault::*pairs,
                   uint64_t pair,
                   int64_t from,
                   int64_t to) const
{
    std::string text;
    for (const Fault& fault : m_faults)
    {
        const std::vector<uint64_t>& hit = fault.*pairs;
        if (fault.losesFrames && fault.begin < to && from < fault.end &&
            std::find(hit.begin(), hit.end(), pair) != hit.end())
        {
            Append(text, fault.words);
        }
    }
    return text;
}

std::string
LinkNotes::LossesOf(uint32_t src, uint32_t dst, int64_t from, int64_t to) const
{
    return Hitting(&Fault::pairs, PairOf(src, dst), from, to);
}

std::string
LinkNotes::LostAnswersOf(uint32_t src, uint32_t dst, int64_t from, int64_t to) const
{
    return Hitting(&Fault::unanswered, PairOf(src, dst), from, to);
}

} // namespace reports
