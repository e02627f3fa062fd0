/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/astra-format.h"

#include "contrib/rdma/core/regular-file.h"
#include "topologies/families/dims.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace topo
{

namespace
{

constexpr const char* kAstraKeys[] = {"topology", "npus_count", "bandwidth", "latency"};

bool
IsAstraKey(const std::string& key)
{
    return std::find(std::begin(kAstraKeys), std::end(kAstraKeys), key) != std::end(kAstraKeys);
}

std::string
Trimmed(const std::string& text)
{
    const auto isSpace = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    const auto begin = std::find_if_not(text.begin(), text.end(), isSpace);
    const auto end = std::find_if_not(text.rbegin(), text.rend(), isSpace).base();
    return begin < end ? std::string(begin, end) : std::string();
}

/// A value without its quotation marks.
std::string
Unquoted(const std::string& text)
{
    const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                        text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
}

/// The key of "key: value", or "".
std::string
KeyOf(const std::string& line)
{
    const std::size_t colon = line.find(':');
    return colon == std::string::npos ? "" : Trimmed(line.substr(0, colon));
}

struct AstraValue
{
    std::vector<std::string> parts;
    uint32_t line = 0;
};

struct AstraFile
{
    std::map<std::string, AstraValue> values;
    uint32_t line = 0; ///< of the problem
    std::string problem;
};

/// "[ a, b ]" or "a" into parts. \return false if a bracket is missing
bool
ReadAstraList(const std::string& text, std::vector<std::string>* parts)
{
    if (text.empty())
    {
        return true; // on the lines below
    }
    const bool list = text.front() == '[';
    if (list != (text.back() == ']'))
    {
        return false;
    }
    for (const std::string& part : PartsOf(list ? text.substr(1, text.size() - 2) : text, ','))
    {
        parts->push_back(Unquoted(Trimmed(part)));
    }
    return true;
}

AstraFile
ReadAstra(const std::string& text)
{
    AstraFile file;
    std::istringstream lines(text);
    AstraValue* open = nullptr;
    for (std::string raw; std::getline(lines, raw);)
    {
        ++file.line;
        const std::string line = Trimmed(raw.substr(0, raw.find('#')));
        if (line.empty() || line == "---" || line == "...")
        {
            continue;
        }
        if (line[0] == '-' && open)
        {
            open->parts.push_back(Unquoted(Trimmed(line.substr(1))));
            continue;
        }
        const std::string key = KeyOf(line);
        if (!IsAstraKey(key))
        {
            file.problem = "has no key of an ASTRA-sim network: " + Quoted(line) +
                           DidYouMean(key, {std::begin(kAstraKeys), std::end(kAstraKeys)}) +
                           "; allowed: topology, npus_count, bandwidth, latency";
            return file;
        }
        const auto [value, isNew] = file.values.try_emplace(key);
        if (!isNew)
        {
            file.problem = "has " + key + " twice, on lines " + std::to_string(value->second.line) +
                           " and " + std::to_string(file.line);
            return file;
        }
        open = &value->second;
        open->line = file.line;
        if (!ReadAstraList(Trimmed(line.substr(line.find(':') + 1)), &open->parts))
        {
            file.problem = key + " has no list: " + Quoted(line) + "; allowed: [ 4, 8 ]";
            return file;
        }
    }
    file.line = 0;
    return file;
}

/// The dimensions of a file; nothing, with errors.
std::optional<std::vector<Dimension>>
DimensionsOfFile(const TopologyRequest& r, std::vector<Error>* errors)
{
    const auto text = ReadWholeFile(r.file, *errors);
    if (!text)
    {
        return std::nullopt;
    }
    const auto fail = [&](uint32_t line, const std::string& problem) {
        errors->push_back({line ? r.file + ":" + std::to_string(line) : r.file,
                           "",
                           problem,
                           "",
                           line ? "" : r.file});
        return std::nullopt;
    };
    AstraFile file = ReadAstra(*text);
    if (!file.problem.empty())
    {
        return fail(file.line, file.problem);
    }
    for (const char* key : kAstraKeys)
    {
        if (file.values.count(key) == 0)
        {
            return fail(0, std::string("has no ") + key);
        }
    }
    std::string problem;
    auto dimensions = DimensionsOf({file.values["topology"].parts,
                                    file.values["npus_count"].parts,
                                    file.values["bandwidth"].parts,
                                    file.values["latency"].parts},
                                   &problem);
    if (!dimensions)
    {
        const auto at = file.values.find(problem.substr(0, problem.find(' ')));
        return fail(at == file.values.end() ? 0 : at->second.line, problem);
    }
    return dimensions;
}

TopologyResult
MakeAstra(const TopologyRequest& r)
{
    TopologyResult result;
    auto dimensions = DimensionsOfFile(r, &result.errors);
    return dimensions ? detail::MakeDimensions(r, std::move(*dimensions), std::move(result))
                      : result;
}

std::string
AstraNumber(double number)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

} // namespace

bool
IsAstraTopology(const std::string& path)
{
    if (!rdma::IsReadable(path))
    {
        return false;
    }
    std::string text(4096, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    std::istringstream lines(text);
    std::size_t keys = 0;
    for (std::string line; std::getline(lines, line);)
    {
        keys += IsAstraKey(KeyOf(Trimmed(line.substr(0, line.find('#'))))) ? 1 : 0;
    }
    return keys >= 2;
}

std::optional<std::string>
AstraTopologyText(const std::vector<Dimension>& dimensions, std::string* why)
{
    std::string words;
    std::string sizes;
    std::string rates;
    std::string delays;
    for (const Dimension& one : dimensions)
    {
        if (one.kind == DimensionKind::kLine)
        {
            *why = "has a line, for which ASTRA-sim has no word";
            return std::nullopt;
        }
        const std::string comma = words.empty() ? " " : ", ";
        words += comma + (one.kind == DimensionKind::kRing   ? "Ring"
                          : one.kind == DimensionKind::kFull ? "FullyConnected"
                                                             : "Switch");
        sizes += comma + std::to_string(one.size);
        rates += comma + AstraNumber(static_cast<double>(one.rate.bps) / 8 / (1UL << 30));
        delays += comma + AstraNumber(static_cast<double>(one.delay->ps) / 1e3);
    }
    return "topology: [" + words + " ]\nnpus_count: [" + sizes + " ]\nbandwidth: [" + rates +
           " ]  # GB/s, 2^30 bytes\nlatency: [" + delays + " ]  # ns\n";
}

namespace
{

Family
Astra()
{
    Family f("astra", "dimensions, from a network file of ASTRA-sim");
    f.file = "a network file of ASTRA-sim";
    f.reads = IsAstraTopology;
    f.tiers = {"router", "row"};
    f.routing = "torus,dfsssp,updn";
    f.lanes = 2;
    f.portsOfHost = [](const TopologyRequest& r) -> std::optional<uint32_t> {
        std::vector<Error> errors;
        const auto dimensions = DimensionsOfFile(r, &errors);
        const uint32_t ports = dimensions ? DimensionGrid(std::move(*dimensions)).Ports() : 0;
        return ports ? std::optional<uint32_t>(ports) : std::nullopt;
    };
    f.make = MakeAstra;
    return f;
}

const RegisteredFamily g_astra(Astra());

} // namespace

} // namespace topo
