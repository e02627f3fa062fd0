/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/flow-sizes.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/traffic/csv-line.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace scenario
{

namespace
{

/// A decimal number as a multiple of 10^-digits; further digits are cut. False: it is none, or too
/// large.
bool
ReadDecimal(const std::string& text, int digits, uint64_t* value)
{
    const size_t point = std::min(text.find('.'), text.size());
    const std::string whole = text.substr(0, point);
    std::string fraction = point < text.size() ? text.substr(point + 1) : "";
    const auto isDigits = [](const std::string& s) {
        return std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
    };
    if (whole.size() + fraction.size() == 0 || whole.size() > 15 || !isDigits(whole) ||
        !isDigits(fraction))
    {
        return false;
    }
    fraction.resize(static_cast<size_t>(digits), '0');
    Wide number = 0;
    for (const char c : whole + fraction)
    {
        number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number > UINT64_MAX)
    {
        return false;
    }
    *value = static_cast<uint64_t>(number);
    return true;
}

std::vector<std::string>
Fields(const std::string& line)
{
    std::vector<std::string> fields;
    std::string field;
    const bool comma = line.find(',') != std::string::npos;
    for (const char c : line + (comma ? "," : " "))
    {
        if (comma ? c == ',' : std::isspace(static_cast<unsigned char>(c)) != 0)
        {
            if (comma || !field.empty())
            {
                fields.push_back(field);
            }
            field.clear();
        }
        else if (!std::isspace(static_cast<unsigned char>(c)))
        {
            field += c;
        }
    }
    return fields;
}

size_t
Column(const std::vector<std::string>& names, const std::vector<std::string>& wanted)
{
    for (size_t i = 0; i < names.size(); ++i)
    {
        if (std::find(wanted.begin(), wanted.end(), names[i]) != wanted.end())
        {
            return i;
        }
    }
    return names.size();
}

} // namespace

bool
FlowSizes::Parse(const std::string& text,
                 const std::string& origin,
                 FlowSizes* sizes,
                 std::string* error)
{
    constexpr uint64_t kPercent = kAll / 100;
    std::istringstream stream(text);
    std::string line;
    size_t bytesAt = 0;
    size_t percentAt = 1;
    bool first = true;
    bool named = false; // the columns are
    uint32_t number = 0;
    std::vector<Point> points;
    const auto fail = [&](const std::string& what) {
        *error = origin + ":" + std::to_string(number) + ": " + what;
        return false;
    };
    while (std::getline(stream, line))
    {
        ++number;
        line.erase(std::min(line.find('#'), line.size()));
        if (number == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0)
        {
            line.erase(0, 3);
        }
        const auto fields = Fields(line);
        if (fields.empty() || (fields.size() == 1 && fields[0].empty()))
        {
            continue;
        }
        if (first && std::isalpha(static_cast<unsigned char>(fields[0].c_str()[0])))
        {
            for (auto name = fields.begin(); name != fields.end(); ++name)
            {
                if (!name->empty() && std::find(fields.begin(), name, *name) != name)
                {
                    return fail("column " + rdma::Shown(*name, 60) + " stands there twice");
                }
            }
            bytesAt = Column(fields, {"size_bytes", "bytes", "size"});
            percentAt = Column(fields, {"cum_percent", "percent"});
            if (bytesAt == fields.size() || percentAt == fields.size())
            {
                return fail(
                    "the columns must be named bytes (or size_bytes) and percent (or cum_percent)");
            }
            sizes->m_note = UnusedColumns(origin, fields, {fields[bytesAt], fields[percentAt]});
            first = false;
            named = true;
            continue;
        }
        first = false;
        Point p;
        if (fields.size() <= std::max(bytesAt, percentAt) || (!named && fields.size() != 2))
        {
            return fail("'" + rdma::Shown(line, 60) + "' is not \"bytes percent\"");
        }
        uint64_t micro = 0;
        if (!ReadDecimal(fields[bytesAt], 6, &micro) || micro % 1000000 != 0 ||
            micro / 1000000 > kLargest)
        {
            return fail("'" + rdma::Shown(fields[bytesAt], 60) +
                        "' is no size; allowed: whole bytes, 0 to 10^12");
        }
        p.bytes = micro / 1000000;
        if (!ReadDecimal(fields[percentAt], 9, &p.share) || p.share > kAll)
        {
            return fail("'" + rdma::Shown(fields[percentAt], 60) +
                        "' is no share; allowed: percent, 0 to 100");
        }
        if (!points.empty())
        {
            const Point& before = points.back();
            if (p.bytes < before.bytes || p.share < before.share ||
                (p.bytes == before.bytes && p.share == before.share))
            {
                return fail("bytes and percent must both ascend; " + fields[bytesAt] + " " +
                            fields[percentAt] + " does not");
            }
        }
        points.push_back(p);
    }
    if (points.empty())
    {
        *error = origin + ": no points; a line is \"bytes percent\"";
        return false;
    }
    if (points.back().share != kAll)
    {
        return fail(points.back().share == kPercent
                        ? "the last share is 1: shares are in percent, 0 to 100, not 0 to 1"
                        : "the last share must be 100 percent");
    }
    if (points.back().bytes == 0)
    {
        return fail("all flows have 0 bytes");
    }
    sizes->m_points = std::move(points);
    return true;
}

uint64_t
FlowSizes::AtShare(uint64_t share) const
{
    const auto at =
        std::upper_bound(m_points.begin(), m_points.end(), share, [](uint64_t s, const Point& p) {
            return s < p.share;
        });
    if (at == m_points.begin())
    {
        return std::max<uint64_t>(1, at->bytes);
    }
    const Point& low = *(at - 1);
    const Wide part = static_cast<Wide>(at->bytes - low.bytes) * (share - low.share);
    return std::max<uint64_t>(1, low.bytes + static_cast<uint64_t>(part / (at->share - low.share)));
}

uint64_t
FlowSizes::ShareUpTo(uint64_t bytes) const
{
    const auto at =
        std::upper_bound(m_points.begin(), m_points.end(), bytes, [](uint64_t b, const Point& p) {
            return b < p.bytes;
        });
    if (at == m_points.begin())
    {
        return 0;
    }
    const Point& low = *(at - 1);
    if (at == m_points.end())
    {
        return kAll;
    }
    const Wide part = static_cast<Wide>(at->share - low.share) * (bytes - low.bytes);
    return low.share + static_cast<uint64_t>(part / (at->bytes - low.bytes));
}

uint64_t
FlowSizes::MeanBytes1024() const
{
    Wide twice = static_cast<Wide>(2) * m_points[0].bytes * m_points[0].share;
    for (size_t i = 1; i < m_points.size(); ++i)
    {
        twice += static_cast<Wide>(m_points[i].bytes + m_points[i - 1].bytes) *
                 (m_points[i].share - m_points[i - 1].share);
    }
    return static_cast<uint64_t>(twice * 512 / kAll);
}

uint64_t
FlowSizes::MeanPackets1024(uint32_t mtu) const
{
    // E[packets] = sum over n of P(more than n packets), and every flow has one: sizes of 0 are
    // drawn as 1. Where the distribution is a straight line, P falls by the same amount from packet
    // to packet: an arithmetic series for each segment.
    Wide sum = kAll; // n = 0
    uint64_t n = 1;
    for (size_t i = 0; i < m_points.size(); ++i)
    {
        // n with n * mtu < m_points[i].bytes, from where the last segment ended
        const uint64_t end = (m_points[i].bytes + mtu - 1) / mtu;
        if (n >= end)
        {
            continue;
        }
        const uint64_t count = end - n;
        const uint64_t firstShare = kAll - ShareUpTo(n * mtu);
        const uint64_t lastShare = kAll - ShareUpTo((end - 1) * mtu);
        sum += static_cast<Wide>(count) * (static_cast<Wide>(firstShare) + lastShare) / 2;
        n = end;
    }
    return static_cast<uint64_t>(sum * 1024 / kAll);
}

} // namespace scenario
