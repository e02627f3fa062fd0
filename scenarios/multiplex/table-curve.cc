/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured latencies, and those between them.
 */
#include "scenarios/multiplex/share-curve.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace multiplex
{

namespace
{

/// The line through two points.
double
OnLine(double x, double x0, double y0, double x1, double y1)
{
    return x0 == x1 ? y0 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

/// Of ascending places the two that a line for x goes through: its neighbours, or, within one step
/// beyond the ends, the two there. Nothing beyond that.
template <class Places>
bool
FindNeighbours(const Places& places, double x, std::size_t* low, std::size_t* high)
{
    const std::size_t n = places.size();
    const double hair = 1e-9 * std::abs(x);
    for (std::size_t i = 0; i < n; ++i)
    {
        if (std::abs(places[i] - x) <= hair)
        {
            *low = *high = i;
            return true;
        }
    }
    if (n < 2)
    {
        return false;
    }
    const double first = places[1] - places[0];
    const double last = places[n - 1] - places[n - 2];
    if (x < places[0] - first - hair || x > places[n - 1] + last + hair)
    {
        return false;
    }
    std::size_t i = 1;
    while (i + 1 < n && places[i] < x)
    {
        ++i;
    }
    *low = i - 1;
    *high = i;
    return true;
}

std::vector<double>
InversesOf(const std::vector<std::pair<double, double>>& row)
{
    std::vector<double> all;
    for (const auto& [inverse, seconds] : row)
    {
        all.push_back(inverse);
    }
    return all;
}

bool
InRow(const std::vector<std::pair<double, double>>& row, double percent, double* seconds)
{
    std::size_t low = 0;
    std::size_t high = 0;
    if (!FindNeighbours(InversesOf(row), 1 / percent, &low, &high))
    {
        return false;
    }
    *seconds =
        OnLine(1 / percent, row[low].first, row[low].second, row[high].first, row[high].second);
    return *seconds > 0;
}

} // namespace

TableCurve::TableCurve(const std::vector<CurvePoint>& points)
{
    for (const CurvePoint& point : points)
    {
        m_rows[point.batch].emplace_back(1 / point.percent, point.seconds);
    }
    for (auto& [batch, row] : m_rows)
    {
        std::sort(row.begin(), row.end());
    }
}

std::pair<uint32_t, uint32_t>
TableCurve::Around(uint32_t batch) const
{
    std::vector<double> batches;
    for (const auto& [known, row] : m_rows)
    {
        batches.push_back(known);
    }
    std::size_t low = 0;
    std::size_t high = 0;
    if (!FindNeighbours(batches, batch, &low, &high))
    {
        return {0, 0};
    }
    return {static_cast<uint32_t>(batches[low]), static_cast<uint32_t>(batches[high])};
}

double
TableCurve::Seconds(uint32_t batch, double percent) const
{
    const auto [low, high] = Around(batch);
    double first = 0;
    double second = 0;
    InRow(m_rows.at(low), percent, &first);
    InRow(m_rows.at(high), percent, &second);
    return OnLine(batch, low, first, high, second);
}

std::string
TableCurve::WhyNot(uint32_t batch, double percent) const
{
    const auto [low, high] = Around(batch);
    if (low == 0)
    {
        return "batch " + std::to_string(batch) +
               " is more than a step beyond the table, which has " +
               std::to_string(m_rows.begin()->first) + " to " +
               std::to_string(m_rows.rbegin()->first);
    }
    for (const uint32_t near : {low, high})
    {
        double seconds = 0;
        const Row& row = m_rows.at(near);
        if (!InRow(row, percent, &seconds))
        {
            const auto whole = [](double inverse) {
                return std::to_string(static_cast<uint32_t>(std::lround(1 / inverse))) + "%";
            };
            return "this share is more than a step beyond the table, which has " +
                   whole(row.back().first) + " to " + whole(row.front().first) + " at batch " +
                   std::to_string(near);
        }
    }
    return Seconds(batch, percent) > 0 ? "" : "the table's line to there goes below 0";
}

uint32_t
TableCurve::LargestBatch() const
{
    return m_rows.rbegin()->first;
}

} // namespace multiplex
