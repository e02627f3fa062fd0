/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/requests/request-collector.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/serving.h"
#include "scenarios/formats/requests/request-columns.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include <algorithm>
#include <utility>

namespace formats
{

namespace
{

constexpr std::size_t kMostErrors = 20; ///< then a file is given up
constexpr std::size_t kMostRuns = 20;   ///< values of a column that an error names
/// Simulated time ends before a clock of ps does.
constexpr WidePs kLongest = WidePs{1'000'000} * 1'000'000'000'000;

std::string
ValuesText(const std::set<std::string>& values)
{
    std::string text;
    std::size_t shown = 0;
    for (const std::string& value : values)
    {
        if (++shown > kMostRuns)
        {
            return text + ", ...";
        }
        text += (text.empty() ? "" : ", ") + rdma::Shown(value, 60);
    }
    return text;
}

} // namespace

Collector::Collector(std::string file, RequestFilter filter, std::vector<topo::Error>& errors)
    : m_file(std::move(file)),
      m_filter(std::move(filter)),
      m_errors(errors),
      m_before(errors.size())
{
}

void
Collector::Fail(const std::string& place, const std::string& problem)
{
    const bool path = !place.empty() && place.front() == '/';
    topo::Error error;
    error.file = path || place.empty() ? m_file : "";
    error.where = path || place.empty() ? place : m_file + ":" + place;
    error.problem = problem;
    m_errors.push_back(std::move(error));
}

bool
Collector::TooMany() const
{
    return m_errors.size() - m_before >= kMostErrors;
}

void
Collector::CheckFilter(const std::vector<std::string>& names, const std::string& place)
{
    for (const auto& [column, value] : m_filter)
    {
        if (FindColumn(names, column) == kNoColumn)
        {
            Fail(place,
                 "no column '" + rdma::Shown(column, 60) + "', which " +
                     scenario::Spell(&scenario::asked::Serving::requestsWhere) + " names" +
                     topo::DidYouMean(column, names));
        }
    }
}

bool
Collector::Takes(const std::string& column, const std::string& value)
{
    for (const auto& [name, wanted] : m_filter)
    {
        if (topo::SameName(name, column))
        {
            m_seen[column].insert(value);
            return wanted == "*" || topo::SameName(wanted, value);
        }
    }
    return true;
}

bool
Collector::IsChosen(const std::string& column) const
{
    return std::any_of(m_filter.begin(), m_filter.end(), [&column](const auto& one) {
        return topo::SameName(one.first, column);
    });
}

void
Collector::Add(std::optional<WidePs> arrival, uint32_t prompt, uint32_t output)
{
    if (prompt == 0 || output == 0)
    {
        ++m_trace.left;
        return;
    }
    m_arrivals.push_back(arrival.value_or(-1));
    m_trace.requests.push_back({-1, prompt, output});
}

std::optional<RequestTrace>
Collector::Take(bool hasArrivals)
{
    CheckRuns();
    if (Fine() && m_trace.requests.empty())
    {
        Fail("",
             m_trace.left > 0
                 ? "all requests have 0 tokens"
                 : "has no requests" + std::string(m_filter.empty() ? "" : ThatMatch()));
    }
    if (Fine() && m_trace.requests.size() > kMostRequests)
    {
        Fail("", "has more than " + std::to_string(kMostRequests) + " requests");
    }
    m_trace.hasArrivals = hasArrivals;
    if (Fine() && hasArrivals)
    {
        SetArrivals();
    }
    return Fine() ? std::optional(std::move(m_trace)) : std::nullopt;
}

std::string
Collector::ThatMatch() const
{
    std::string text =
        " that " + scenario::Spell(&scenario::asked::Serving::requestsWhere) + " chooses";
    for (const auto& [column, values] : m_seen)
    {
        text += "; " + column + ": " + ValuesText(values);
    }
    return text;
}

void
Collector::CheckRuns()
{
    for (const auto& [column, values] : m_runs)
    {
        if (Fine() && values.size() > 1)
        {
            Fail("",
                 "has requests of several values of " + column + ": " + ValuesText(values) + "; " +
                     scenario::Spell(&scenario::asked::Serving::requestsWhere) + "=" + column +
                     "=" + rdma::Shown(*values.begin(), 60) + " takes those of one, " + column +
                     "=* all");
        }
    }
}

void
Collector::SetArrivals()
{
    std::vector<std::size_t> order(m_arrivals.size());
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        return m_arrivals[a] < m_arrivals[b];
    });
    const WidePs first = m_arrivals[order.front()];
    if (m_arrivals[order.back()] - first > kLongest)
    {
        Fail("", "lasts longer than 1000000 s; allowed: a part of it, as a file of its own");
        return;
    }
    std::vector<serving::Request> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order)
    {
        sorted.push_back(m_trace.requests[i]);
        sorted.back().arrival = static_cast<int64_t>(m_arrivals[i] - first);
    }
    m_trace.requests = std::move(sorted);
}

} // namespace formats
