/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/fault-reader.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/recovery.h"
#include "topologies/limits.h"

#include <algorithm>
#include <charconv>

namespace scenario
{

namespace
{

/// Slower ones would make frames as long as time-outs.
constexpr rdma::BitRate kSlowest{1000000};
constexpr double kMostCycles = 1e6; ///< for one flapping link

std::optional<double>
ParseReal(const std::string& text)
{
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [p, bad] = std::from_chars(text.data(), end, value);
    return bad != std::errc() || p != end || !(value - value == 0) ? std::nullopt
                                                                   : std::optional(value);
}

std::string
KeysText(const KnownFault& known)
{
    std::string text;
    for (const std::string& key : FaultKeys())
    {
        text += known.Takes(key) ? ", " + key : "";
    }
    return text;
}

std::string
What(const std::string& key, const KnownFault& known)
{
    return key == "on"   ? "WHERE: " + FaultPlacesText(known.places)
           : key == "to" ? std::string("VALUE: ") + known.toAllowed
                         : "TIME";
}

} // namespace

std::optional<Fault>
FaultReader::Read(std::size_t index, const KnownFault** known)
{
    const Value& value = m_v->values.At(&asked::Recovery::fault);
    m_entry = value.entries[index];
    m_where = value.where;
    if (m_where.find(": /") != std::string::npos)
    {
        m_where += "/" + std::to_string(index);
    }
    const std::string name = Get("what");
    const KnownFault* found = *known = FindFault(name);
    if (!found)
    {
        const std::vector<std::string> names = FaultNames();
        Fail("",
             name + " is nothing that goes wrong; allowed: " + Join(names, ", "),
             rdma::NearestName(name, names));
        return std::nullopt;
    }
    for (const auto& [key, text] : m_entry)
    {
        if (key != "what" && key != "at" && key != "on" && !found->Takes(key))
        {
            Fail(key,
                 std::string(found->name) + " takes no " + key + "=; allowed: at, on" +
                     KeysText(*found));
            return std::nullopt;
        }
    }
    for (const std::string key : {"at", "on", "for", "to", "period"})
    {
        if (Get(key).empty() && (key == "at" || key == "on" || found->Needs(key)))
        {
            Fail("", std::string(found->name) + " needs " + key + "=" + What(key, *found));
            return std::nullopt;
        }
    }
    Fault fault;
    fault.kind = found->kind;
    fault.what = found->name;
    fault.where = Get("on");
    const bool good = ReadTime("at", 0, &fault.at) && ReadTime("for", 1, &fault.length) &&
                      ReadTo(*found, &fault) && ReadFlap(&fault);
    return good ? std::optional(fault) : std::nullopt;
}

void
FaultReader::Fail(const std::string& key, std::string problem, std::string nearest)
{
    m_v->errors.push_back({m_where + (key.empty() ? "" : ": " + key),
                           key.empty() ? EntryText() : Get(key),
                           std::move(problem),
                           std::move(nearest)});
}

std::string
FaultReader::Get(const std::string& key) const
{
    const auto found =
        std::find_if(m_entry.begin(), m_entry.end(), [&](const auto& e) { return e.first == key; });
    return found == m_entry.end() ? "" : found->second;
}

std::string
FaultReader::EntryText() const
{
    std::string text;
    for (const auto& [key, value] : m_entry)
    {
        text += (text.empty() ? "" : ",") + (key == "what" ? value : key + "=" + value);
    }
    return text;
}

bool
FaultReader::ReadTime(const std::string& key, int64_t least, rdma::Duration* to)
{
    const std::string text = Get(key);
    if (text.empty())
    {
        return true;
    }
    const auto time = rdma::ParseDuration(text);
    constexpr int64_t most = 1000000000000000000; // 10^6 s
    if (!time || time->ps < least || time->ps > most)
    {
        Fail(key,
             std::string("allowed: ") + (least ? "more than 0" : "a time from 0") +
                 " to 1000000s, such as 500ns, 10us or 2ms");
        return false;
    }
    *to = *time;
    return true;
}

bool
FaultReader::ReadTo(const KnownFault& known, Fault* fault)
{
    const std::string text = Get("to");
    if (!known.Takes("to"))
    {
        return true;
    }
    bool good = false;
    if (known.kind == FaultKind::kRate)
    {
        const auto rate = rdma::ParseBitRate(text);
        good = rate && rate->bps >= kSlowest.bps;
        fault->rate = rate.value_or(rdma::BitRate(0));
    }
    else if (const auto real = ParseReal(text))
    {
        fault->value = *real;
        good = known.kind == FaultKind::kLaneDown    ? *real == 1 || *real == 2 || *real == 3
               : known.kind == FaultKind::kBitErrors ? *real > 0 && *real <= topo::kMostBitErrors
               : known.kind == FaultKind::kDrop      ? *real > 0 && *real <= 1
                                                     : *real >= 1 && *real <= 1000;
        fault->value /= known.kind == FaultKind::kLaneDown ? 4 : 1;
    }
    if (!good)
    {
        Fail("to", std::string("allowed: ") + known.toAllowed);
    }
    return good;
}

bool
FaultReader::ReadFlap(Fault* fault)
{
    if (fault->kind != FaultKind::kFlap)
    {
        return true;
    }
    if (!ReadTime("period", 1, &fault->period))
    {
        return false;
    }
    const std::string text = Get("duty");
    const auto duty = text.empty() ? std::optional(0.5) : ParseReal(text);
    if (!duty || *duty <= 0 || *duty >= 1)
    {
        Fail("duty",
             "allowed: a number above 0 and below 1, the share of the period in which "
             "the link is down");
        return false;
    }
    fault->duty = *duty;
    if (static_cast<double>(fault->length.ps) / static_cast<double>(fault->period.ps) > kMostCycles)
    {
        Fail("period",
             "comes more than a million times in for=; allowed: a longer period, or "
             "a shorter time");
        return false;
    }
    return true;
}

} // namespace scenario
