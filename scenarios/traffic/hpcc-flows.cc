/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/hpcc-flows.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

namespace scenario
{

namespace
{

constexpr const char* kLineForm = "expected 'src dst pg dport bytes start_s'";
constexpr size_t kFields = 6;
constexpr size_t kDport = 3; ///< the field that ConWeave's files do not have

bool
ParseWhole(const std::string& word, uint64_t* value)
{
    const char* end = word.data() + word.size();
    const auto [p, bad] = std::from_chars(word.data(), end, *value);
    return bad == std::errc() && p == end;
}

/// Decimal seconds to picoseconds, digit by digit: "2.0000013" is 2000001300000 ps, not the nearest
/// double. With an exponent ("1e-05", as Python writes small numbers) by way of a double.
bool
ParseSeconds(const std::string& word, int64_t* ps)
{
    if (word.find_first_of("eE") != std::string::npos)
    {
        if (word.find_first_not_of("0123456789.eE+-") != std::string::npos || word[0] == '-')
        {
            return false;
        }
        char* end = nullptr;
        const double v = std::strtod(word.c_str(), &end);
        if (end == word.c_str() || *end != '\0' || !(v >= 0) || v > 9e6)
        {
            return false;
        }
        *ps = std::llround(v * 1e12);
        return true;
    }
    uint64_t value = 0;
    int decimals = -1;
    bool digits = false;
    bool roundUp = false;
    for (const char c : word)
    {
        if (c == '.' && decimals < 0)
        {
            decimals = 0;
        }
        else if (c >= '0' && c <= '9')
        {
            digits = true;
            if (decimals == 12)
            {
                roundUp = c >= '5'; // the first digit that does not count any more
                ++decimals;
            }
            else if (decimals < 12)
            {
                if (value > 9000000000000000000ULL / 10)
                {
                    return false;
                }
                value = value * 10 + static_cast<uint64_t>(c - '0');
                decimals += decimals >= 0 ? 1 : 0;
            }
        }
        else
        {
            return false;
        }
    }
    if (!digits)
    {
        return false;
    }
    for (int d = decimals < 0 ? 0 : decimals; d < 12; ++d)
    {
        if (value > 9000000000000000000ULL / 10)
        {
            return false;
        }
        value *= 10;
    }
    *ps = static_cast<int64_t>(value + (roundUp ? 1 : 0));
    return true;
}

std::vector<std::string>
WordsOf(const std::string& line)
{
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
    {
        words.push_back(std::move(word));
    }
    return words;
}

} // namespace

bool
IsHpccFlows(const std::string& text)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
    {
        const std::vector<std::string> words = WordsOf(line);
        uint64_t count = 0;
        if (!words.empty())
        {
            return words.size() == 1 && ParseWhole(words[0], &count);
        }
    }
    return false;
}

HpccFlows
ReadHpccFlows(const std::string& text,
              const std::string& origin,
              const std::function<std::string(uint64_t)>& notAHost)
{
    HpccFlows result;
    std::istringstream lines(text);
    std::string line;
    size_t number = 0;
    bool counted = false;
    size_t fields = 0; // of a line; 0: not known yet
    uint64_t count = 0;
    const auto fail = [&](const std::string& what) {
        result.error = origin + ":" + std::to_string(number) + ": " + what;
        result.flows.clear();
        return result;
    };

    while (std::getline(lines, line))
    {
        ++number;
        std::vector<std::string> words = WordsOf(line);
        if (words.empty())
        {
            continue;
        }
        if (!counted)
        {
            if (words.size() != 1 || !ParseWhole(words[0], &count))
            {
                return fail("expected the number of flows, found '" + rdma::Shown(line, 60) + "'");
            }
            counted = true;
            continue;
        }
        if (result.flows.size() == count)
        {
            const bool remark = words[0][0] == '#' ||
                                (words.size() > 1 && words[0] == "First" && words[1] == "line:");
            if (!remark)
            {
                result.note = origin + ":" + std::to_string(number) +
                              ": the first line announces " + topo::Counted(count, "flow") +
                              "; lines behind " + (count == 1 ? "it" : "these") + " are ignored";
            }
            break;
        }
        if (fields == 0)
        {
            // Whole seconds at the end are rather the bytes of a line whose start is missing.
            const bool isShort =
                words.size() == kFields - 1 && words.back().find('.') != std::string::npos;
            fields = isShort ? kFields - 1 : kFields;
        }
        if (words.size() != fields)
        {
            return fail(std::string(kLineForm) + ", found " + std::to_string(words.size()) +
                        " fields; flow " + std::to_string(result.flows.size() + 1) + " of " +
                        std::to_string(count));
        }
        if (fields < kFields)
        {
            words.insert(words.begin() + kDport, std::to_string(HpccFlow().dport));
        }
        uint64_t v[5];
        static const char* const names[] = {"src", "dst", "pg", "dport", "bytes"};
        for (int i = 0; i < 5; ++i)
        {
            if (!ParseWhole(words[i], &v[i]))
            {
                return fail(std::string(names[i]) + " '" + rdma::Shown(words[i], 60) +
                            "' is not a whole number; " + kLineForm);
            }
        }
        for (int i = 0; i < 2; ++i)
        {
            const std::string wrong = notAHost(v[i]);
            if (!wrong.empty())
            {
                return fail(std::string(names[i]) + " " + words[i] + " is not a host: " + wrong);
            }
        }
        if (v[0] == v[1])
        {
            return fail("src and dst are both " + words[0]);
        }
        if (v[2] > 7)
        {
            return fail("pg " + words[2] + " is not a priority; allowed: 0 to 7");
        }
        if (v[3] > 65535)
        {
            return fail("dport " + words[3] + " is not a port; allowed: 0 to 65535");
        }
        if (v[4] == 0)
        {
            return fail("bytes is 0; allowed: at least 1");
        }
        if (v[4] > 1000000000000000ULL)
        {
            return fail("bytes " + words[4] + " is too large; allowed: up to 10^15");
        }
        HpccFlow flow;
        flow.src = static_cast<uint32_t>(v[0]);
        flow.dst = static_cast<uint32_t>(v[1]);
        flow.priority = static_cast<uint8_t>(v[2]);
        flow.dport = static_cast<uint16_t>(v[3]);
        flow.bytes = v[4];
        if (!ParseSeconds(words[5], &flow.start.ps))
        {
            return fail("start_s '" + rdma::Shown(words[5], 60) +
                        "' is not a time in seconds such as 2.000001");
        }
        if (!result.flows.empty() && flow.start < result.flows.back().start)
        {
            return fail("start_s " + words[5] +
                        " is before that of the flow above; flows must be in ascending order");
        }
        result.flows.push_back(flow);
    }
    if (!counted)
    {
        number = 1;
        return fail("expected the number of flows, the file is empty");
    }
    if (result.flows.size() != count)
    {
        return fail("the first line announces " + std::to_string(count) +
                    (count == 1 ? " flow" : " flows") + ", the file has " +
                    std::to_string(result.flows.size()));
    }
    if (count == 0)
    {
        return fail("there are no flows");
    }
    return result;
}

std::string
WriteHpccFlows(const std::vector<HpccFlow>& flows)
{
    std::string out = std::to_string(flows.size()) + "\n";
    for (const auto& f : flows)
    {
        std::string fraction = std::to_string(f.start.ps % 1000000000000LL);
        fraction.insert(0, 12 - fraction.size(), '0');
        while (fraction.size() > 1 && fraction.back() == '0')
        {
            fraction.pop_back();
        }
        out += std::to_string(f.src) + " " + std::to_string(f.dst) + " " +
               std::to_string(f.priority) + " " + std::to_string(f.dport) + " " +
               std::to_string(f.bytes) + " " + std::to_string(f.start.ps / 1000000000000LL) + "." +
               fraction + "\n";
    }
    return out;
}

} // namespace scenario
