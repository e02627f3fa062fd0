/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/nccl/nccl-output.h"

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recording.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace formats
{

namespace
{

/// Without blanks, and what mpirun or srun puts in front.
std::string_view
Bare(std::string_view line)
{
    constexpr const char* kBlanks = " \t\r";
    if (!line.empty() && line[0] == '[')
    {
        for (const std::string_view end : {"]<stdout>:", "]<stderr>:"})
        {
            const std::size_t at = line.find(end);
            if (at != std::string_view::npos && at < line.find(']') + 1)
            {
                line.remove_prefix(at + end.size());
                break;
            }
        }
    }
    else
    {
        const std::size_t digits = line.find_first_not_of("0123456789");
        if (digits != 0 && digits != std::string_view::npos && line.substr(digits, 2) == ": ")
        {
            line.remove_prefix(digits + 2);
        }
    }
    const std::size_t begin = line.find_first_not_of(kBlanks);
    return begin == std::string_view::npos
               ? std::string_view()
               : line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string>
WordsOf(std::string_view line)
{
    std::istringstream stream{std::string(line)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
    {
        words.push_back(std::move(word));
    }
    return words;
}

bool
ParseWhole(const std::string& word, uint64_t most, uint64_t* value)
{
    const char* const end = word.data() + word.size();
    const auto [rest, bad] = std::from_chars(word.data(), end, *value);
    return bad == std::errc() && rest == end && *value <= most;
}

/// Bytes of the types of nccl-tests and rccl-tests (test_typenames of their src/common.cu).
const std::map<std::string, uint64_t, std::less<>>&
TypeBytes()
{
    static const std::map<std::string, uint64_t, std::less<>> kBytes = {{"int8", 1},
                                                                        {"uint8", 1},
                                                                        {"char", 1},
                                                                        {"f8e4m3", 1},
                                                                        {"f8e5m2", 1},
                                                                        {"fp8_e4m3", 1},
                                                                        {"fp8_e5m2", 1},
                                                                        {"half", 2},
                                                                        {"bfloat16", 2},
                                                                        {"bf16", 2},
                                                                        {"int", 4},
                                                                        {"int32", 4},
                                                                        {"uint32", 4},
                                                                        {"float", 4},
                                                                        {"int64", 8},
                                                                        {"uint64", 8},
                                                                        {"double", 8}};
    return kBytes;
}

/// A number as it was printed: some of its digits are lost.
struct Printed
{
    double value = 0;
    double lost = 0; ///< at most
};

std::optional<Printed>
PrintedOf(const std::string& word)
{
    Printed printed;
    const char* const end = word.data() + word.size();
    const auto [rest, bad] = std::from_chars(word.data(), end, printed.value);
    if (bad != std::errc() || rest != end || !std::isfinite(printed.value) || printed.value < 0)
    {
        return std::nullopt;
    }
    const std::size_t power = word.find_first_of("eE");
    const std::size_t dot = word.find('.');
    int last = power == std::string::npos ? 0 : std::atoi(word.c_str() + power + 1);
    last -= dot == std::string::npos
                ? 0
                : static_cast<int>(std::min(power, word.size()) - dot - 1); // digits behind the dot
    printed.lost = 0.5 * std::pow(10.0, last);
    return printed;
}

/// Whether `rate` is what `bytes` in `time` us are in GB/s, times a factor from `least` to `most`,
/// within the digits that were printed.
bool
IsRateOf(uint64_t bytes, const Printed& time, const Printed& rate, double least, double most)
{
    constexpr double kExact = 1 + 1e-6; // rounding of doubles
    const double slow = static_cast<double>(bytes) * 1e-3 / (time.value + time.lost);
    const double fast = time.value > time.lost
                            ? static_cast<double>(bytes) * 1e-3 / (time.value - time.lost)
                            : std::numeric_limits<double>::infinity();
    return rate.value - rate.lost * kExact <= most * fast * kExact &&
           rate.value + rate.lost * kExact >= least * slow / kExact;
}

class NcclReader
{
  public:
    NcclReader(std::string file, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::optional<NcclOutput> Read(const std::string& text);

  private:
    /// Data of a row that can only be checked when the whole file is known.
    struct Row
    {
        uint64_t line = 0;
        uint64_t bytes = 0;
        uint64_t parts = 1; ///< number of parts of the bytes that have `count` elements each
        std::vector<std::pair<Printed, Printed>> bus; ///< times and busbw
    };

    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file + (m_line > 0 ? ":" + std::to_string(m_line) : ""), "", problem);
        return false;
    }

    bool ReadRemark(const std::vector<std::string>& words);
    bool ReadTest(std::string name);
    bool ReadRow(const std::vector<std::string>& words);
    bool CheckSize(const std::vector<std::string>& words, uint64_t bytes, uint64_t count);
    bool CheckRates(const std::vector<std::string>& words, std::size_t at, uint64_t bytes);
    bool CheckRow(const Row& row);

    const std::string m_file;
    std::vector<topo::Error>& m_errors;
    uint64_t m_line = 0;
    std::vector<std::string> m_titles;
    std::size_t m_column = 0;  ///< column of `time` in a row; 0: no title so far
    std::size_t m_inPlace = 0; ///< column of the second `time`; 0: there is none
    std::vector<Row> m_rows;
    std::set<uint64_t> m_devices;
    std::set<std::string> m_hosts;
    std::map<uint64_t, std::vector<double>> m_times; ///< us, by bytes
    NcclOutput m_output;
};

bool
NcclReader::ReadTest(std::string name)
{
    constexpr std::string_view kEnd = "_perf";
    if (name.size() > kEnd.size() &&
        name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0)
    {
        name.resize(name.size() - kEnd.size());
    }
    if (!m_output.op.empty() && m_output.op != name)
    {
        return Fail("the test of " + topo::Quoted(name) + " behind that of " +
                    topo::Quoted(m_output.op) + "; allowed: one in a file");
    }
    m_output.op = std::move(name);
    return true;
}

/// A line behind a '#', which may be a word of its own.
bool
NcclReader::ReadRemark(const std::vector<std::string>& words)
{
    const auto is = [&words](std::size_t i, const char* word) {
        return i < words.size() && words[i] == word;
    };
    uint64_t number = 0;
    if (is(0, "Collective") && is(1, "test") && is(2, "starting:") && words.size() > 3)
    {
        return ReadTest(words[3]);
    }
    if (is(0, "size") && is(1, "count"))
    {
        const auto time = std::find(words.begin(), words.end(), "time");
        if (time != words.end())
        {
            const auto second = std::find(time + 1, words.end(), "time");
            m_titles = words;
            m_column = static_cast<std::size_t>(time - words.begin());
            m_inPlace =
                second == words.end() ? 0 : static_cast<std::size_t>(second - words.begin());
        }
        return true;
    }
    if (is(0, "Rank") && words.size() > 1 && ParseWhole(words[1], kMostRanks, &number))
    {
        const auto on = std::find(words.begin(), words.end(), "on");
        const auto device = std::find(words.begin(), words.end(), "device");
        if (on == words.end() || device - on != 2)
        {
            return true; // of another program
        }
        m_hosts.insert(on[1]);
        return m_devices.insert(number).second ||
               Fail("rank " + words[1] + " a second time: is nccl-tests built with MPI?");
    }
    // "all_reduce, algorithm ring; 16 ranks on 2 servers, ..." of collperf
    if (is(1, "algorithm") && words[0].size() > 1 && words[0].back() == ',')
    {
        for (std::size_t i = 2; i + 4 < words.size(); ++i)
        {
            uint64_t ranks = 0;
            if (words[i + 1].compare(0, 4, "rank") == 0 && is(i + 2, "on") &&
                words[i + 4].compare(0, 6, "server") == 0 &&
                ParseWhole(words[i], kMostRanks, &ranks) &&
                ParseWhole(words[i + 3], kMostRanks, &number))
            {
                m_output.ranks = static_cast<uint32_t>(ranks);
                m_output.hosts = static_cast<uint32_t>(number);
                return ReadTest(words[0].substr(0, words[0].size() - 1));
            }
        }
    }
    return true;
}

/// A size is elements of a type: as many as there are, or, where ranks have a part each
/// (all-gather), as many times the ranks.
bool
NcclReader::CheckSize(const std::vector<std::string>& words, uint64_t bytes, uint64_t count)
{
    const auto at = std::find(m_titles.begin(), m_titles.end(), "type") - m_titles.begin();
    if (static_cast<std::size_t>(at) >= m_column)
    {
        return true; // does not say it
    }
    const std::string& type = words[static_cast<std::size_t>(at)];
    const auto found = TypeBytes().find(type);
    if (found == TypeBytes().end())
    {
        return Fail(topo::Quoted(type) + " where there should be the type of a row, as \"float\"");
    }
    const uint64_t part = count * found->second; // at most 2^53
    const uint64_t ranks = !m_devices.empty()   ? m_devices.size()
                           : m_output.ranks > 0 ? m_output.ranks
                                                : kMostRanks;
    const uint64_t parts = part == 0 ? ranks : bytes / part;
    // If ranks have uneven shares, a row gives the least: 4 KiB of 6 ranks are 170 floats each.
    if (parts == 0 || bytes - parts * part >= parts * found->second)
    {
        return Fail("size " + words[0] + ", which " + words[1] + " elements of type " + type +
                    " are not");
    }
    m_rows.back().parts = part == 0 ? 1 : bytes / part;
    return true;
}

/// algbw is size / time; before 2.10 or so, of all-gather and its like, the part of it that leaves
/// a rank, (n - 1) / n of n >= 2 ranks. \param at the column of the time
bool
NcclReader::CheckRates(const std::vector<std::string>& words, std::size_t at, uint64_t bytes)
{
    const auto isTitle = [this](std::size_t i, const char* name) {
        return i < m_titles.size() && m_titles[i] == name;
    };
    if (!isTitle(at + 1, "algbw") || !isTitle(at + 2, "busbw"))
    {
        return true;
    }
    const auto time = PrintedOf(words[at]);
    const auto alg = PrintedOf(words[at + 1]);
    const auto bus = PrintedOf(words[at + 2]);
    if (!time || !alg || !bus)
    {
        const bool missing = words[at] == "N/A" && words[at + 1] == "N/A" && words[at + 2] == "N/A";
        return missing || Fail(topo::Quoted(words[at] + " " + words[at + 1] + " " + words[at + 2]) +
                               " where there should be a time (us), algbw and busbw (GB/s)");
    }
    const bool alone = m_devices.size() == 1;
    if (!IsRateOf(bytes, *time, *alg, alone ? 0 : 0.5, 1))
    {
        return Fail("algbw " + words[at + 1] + " GB/s, which " + words[0] + " B in " + words[at] +
                    " us are not");
    }
    m_rows.back().bus.emplace_back(*time, *bus);
    return true;
}

/// busbw is algbw by a factor of the operation and its ranks (doc/PERFORMANCE.md of nccl-tests).
/// Where the file does not say the operation, that of any is allowed.
bool
NcclReader::CheckRow(const Row& row)
{
    const uint32_t ranks = m_output.ranks;
    const auto op = coll::ParseOp(m_output.op);
    m_line = row.line;
    if (row.parts != 1 && ranks != 0 && row.parts != ranks)
    {
        return Fail("a size of " + std::to_string(row.parts) +
                    " times its elements; allowed: once, or " + std::to_string(ranks) +
                    " times, as there are ranks");
    }
    std::vector<double> factors = {0, 2}; // between
    if (ranks > 0 && op && op != coll::Op::kAllToAllV)
    {
        factors = {coll::BusBwFactor(*op, ranks)};
    }
    for (const auto& [time, bus] : row.bus)
    {
        if (!IsRateOf(row.bytes, time, bus, factors.front(), factors.back()))
        {
            std::ostringstream text;
            text << "busbw " << bus.value << " GB/s, which " << row.bytes << " B in " << time.value
                 << " us are not"
                 << (ranks > 0 && op ? " of " + m_output.op + " on " + topo::Counted(ranks, "rank")
                                     : std::string(" of any collective"));
            return Fail(text.str());
        }
    }
    return true;
}

bool
NcclReader::ReadRow(const std::vector<std::string>& words)
{
    uint64_t bytes = 0;
    uint64_t count = 0;
    if (m_column == 0)
    {
        return true; // of another program
    }
    const bool sized = ParseWhole(words[0], kMostBytes, &bytes);
    const bool counted = words.size() > 1 && ParseWhole(words[1], kMostBytes, &count);
    const bool typed = words.size() > 2 && TypeBytes().count(words[2]) > 0;
    if (sized + counted + typed < 2)
    {
        return true; // of another program
    }
    if (!sized || !counted)
    {
        return Fail(topo::Quoted(words[sized ? 1 : 0]) + " where there should be the " +
                    (sized ? "elements" : "size") + " of a row, a whole number, at most 2^50");
    }
    // One half may be missing, if the run was in place alone, or out of place.
    const std::size_t half = m_inPlace > 0 ? m_inPlace - m_column : 0;
    if (words.size() < m_titles.size() && words.size() + half != m_titles.size())
    {
        return Fail("a row of " + topo::Counted(words.size(), "column") +
                    "; allowed: " + std::to_string(m_titles.size()) + ", as in the title");
    }
    m_rows.push_back({m_line, bytes, 1, {}});
    if (!CheckSize(words, bytes, count))
    {
        return false;
    }
    const std::string& word = words[m_column];
    const char* const end = word.data() + word.size();
    double us = 0;
    const auto [rest, bad] = std::from_chars(word.data(), end, us);
    if (bad != std::errc() || rest != end || !(us > 0) || !(us <= kLongestPs * 1e-6))
    {
        return Fail(topo::Quoted(word) + " where there should be the time of a row, microseconds "
                                         "above 0, at most 1e9");
    }
    if (bytes > 0)
    {
        m_times[bytes].push_back(us);
    }
    return CheckRates(words, m_column, bytes) &&
           (m_inPlace == 0 || words.size() < m_titles.size() ||
            CheckRates(words, m_inPlace, bytes));
}

std::optional<NcclOutput>
NcclReader::Read(const std::string& text)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
    {
        ++m_line;
        std::string_view bare = Bare(line);
        const bool remark = !bare.empty() && bare[0] == '#';
        if (remark)
        {
            bare.remove_prefix(1);
        }
        const std::vector<std::string> words = WordsOf(bare);
        if (!words.empty() && !(remark ? ReadRemark(words) : ReadRow(words)))
        {
            return std::nullopt;
        }
    }
    m_line = 0;
    if (m_times.empty())
    {
        Fail("is no output of nccl-tests: there are no rows of a table (\"# size count type ... "
             "time ...\" and a line for each size)");
        return std::nullopt;
    }
    if (!m_devices.empty())
    {
        m_output.ranks = static_cast<uint32_t>(m_devices.size());
        m_output.hosts = static_cast<uint32_t>(m_hosts.size());
    }
    for (const Row& row : m_rows)
    {
        if (!CheckRow(row))
        {
            return std::nullopt;
        }
    }
    for (auto& [bytes, times] : m_times)
    {
        std::sort(times.begin(), times.end());
        const std::size_t half = times.size() / 2;
        m_output.time[bytes] = times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
    }
    return std::move(m_output);
}

} // namespace

std::optional<NcclOutput>
ReadNcclOutput(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    return NcclReader(file, errors).Read(text);
}

} // namespace formats
