/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/serving-words.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/inference/requests.h"
#include "scenarios/options/format.h"
#include "scenarios/options/span.h"

#include <charconv>
#include <cmath>
#include <map>

namespace scenario
{

namespace
{

constexpr uint32_t kMostRates = 1000;
constexpr uint32_t kUsualRates = 8;
constexpr uint32_t kMostDrafted = 64; ///< tokens of a draft
constexpr double kMostCv = 100;
constexpr double kLongestObjective = 1e6; ///< s

std::optional<double>
NumberOf(const std::string& text)
{
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data(), end, number);
    return bad == std::errc() && after == end && std::isfinite(number) ? std::optional(number)
                                                                       : std::nullopt;
}

std::optional<uint32_t>
CountOf(const std::string& text, uint32_t most)
{
    uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data(), end, number);
    return bad == std::errc() && after == end && number >= 1 && number <= most
               ? std::optional(number)
               : std::nullopt;
}

std::vector<std::string>
Split(const std::string& text, char sign)
{
    std::vector<std::string> parts(1);
    for (const char c : text)
    {
        if (c == sign)
        {
            parts.emplace_back();
        }
        else
        {
            parts.back() += c;
        }
    }
    return parts;
}

std::string
Quoted(const std::string& text)
{
    return "'" + rdma::Shown(text, 60) + "'";
}

// ---- lengths

constexpr const char* kLengths =
    "allowed: tokens, as 512, or uniform:128-2048, or lognormal:MEAN:CV, as lognormal:512:1.2, "
    "from 1 to 10000000";

bool
IsLength(const std::optional<double>& number)
{
    return number && *number >= 1 && *number <= serving::kMostTokens;
}

bool
IsWhole(const std::optional<double>& number)
{
    return IsLength(number) && std::floor(*number) == *number;
}

// ---- arrivals

std::string
RateProblem(const std::string& text)
{
    return "has the rate " + Quoted(text) + "; allowed: requests a second above 0, at most 1e6";
}

// ---- pools

struct PoolWords
{
    std::string role;
    std::string problem;
    serving::PoolSpec pool;
};

/// "tp=4,pp=2".
std::string
ReadCuts(const std::string& text, serving::PoolSpec* pool)
{
    std::map<std::string, uint32_t> cuts;
    for (const std::string& part : Split(text, ','))
    {
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const auto degree = equals == std::string::npos
                                ? std::nullopt
                                : CountOf(part.substr(equals + 1), kMostDegree);
        if ((name != "tp" && name != "pp" && name != "ep") || !degree)
        {
            return "has " + Quoted(part) + "; allowed: tp=N, pp=N or ep=N, N from 1";
        }
        if (!cuts.emplace(name, *degree).second)
        {
            return "has " + name + " twice in one pool";
        }
    }
    const auto cut = [&cuts](const char* name) {
        const auto at = cuts.find(name);
        return at == cuts.end() ? 1 : at->second;
    };
    pool->tp = cut("tp");
    pool->pp = cut("pp");
    if (cuts.count("ep") > 0)
    {
        if (cut("ep") % pool->tp != 0)
        {
            return "has ep=" + std::to_string(cut("ep")) +
                   ", which is no multiple of tp=" + std::to_string(pool->tp);
        }
        pool->dp = cut("ep") / pool->tp;
    }
    return "";
}

/// "prefill:2x(tp=4)".
PoolWords
ReadPool(const std::string& text)
{
    constexpr const char* kPools = "; allowed: prefill:2x(tp=4),decode:2x(tp=2,pp=2)";
    PoolWords words;
    const std::size_t colon = text.find(':');
    words.role = text.substr(0, colon);
    if (words.role != "prefill" && words.role != "decode")
    {
        words.problem = "has the pool " + Quoted(words.role) + kPools;
        return words;
    }
    words.pool.role =
        words.role == "prefill" ? serving::PoolRole::kPrefill : serving::PoolRole::kDecode;
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    const std::size_t open = std::min(rest.find('('), rest.size());
    std::string number = rest.substr(0, open);
    if (!number.empty() && number.back() == 'x')
    {
        number.pop_back();
    }
    const auto instances = number.empty() && open < rest.size() ? std::optional<uint32_t>(1)
                                                                : CountOf(number, kMostDegree);
    const bool closed = open == rest.size() || rest.back() == ')';
    if (!instances || !closed)
    {
        words.problem = "has " + Quoted(text) + kPools;
        return words;
    }
    words.pool.instances = *instances;
    if (open < rest.size())
    {
        words.problem = ReadCuts(rest.substr(open + 1, rest.size() - open - 2), &words.pool);
    }
    return words;
}

} // namespace

Worded<serving::LengthSpec>
ParseLength(const std::string& text)
{
    using Kind = serving::LengthSpec::Kind;
    const auto parts = Split(text, ':');
    if (parts.size() == 1)
    {
        const auto tokens = NumberOf(text);
        return IsWhole(tokens)
                   ? Worded<serving::LengthSpec>{serving::LengthSpec{Kind::kFixed, *tokens, 0}, ""}
                   : Worded<serving::LengthSpec>{std::nullopt, kLengths};
    }
    if (parts.size() == 2 && parts[0] == "uniform")
    {
        const auto ends = Split(parts[1], '-');
        const auto low = NumberOf(ends[0]);
        const auto high = ends.size() == 2 ? NumberOf(ends[1]) : std::nullopt;
        if (IsWhole(low) && IsWhole(high) && *low <= *high)
        {
            return {serving::LengthSpec{Kind::kUniform, *low, *high}, ""};
        }
        return {std::nullopt,
                "is no range; allowed: uniform:A-B with whole numbers, A from 1 and at most B"};
    }
    if (parts.size() == 3 && parts[0] == "lognormal")
    {
        const auto mean = NumberOf(parts[1]);
        const auto cv = NumberOf(parts[2]);
        if (IsLength(mean) && cv && *cv >= 0 && *cv <= kMostCv)
        {
            return {serving::LengthSpec{Kind::kLognormal, *mean, *cv}, ""};
        }
        return {std::nullopt,
                "is no distribution; allowed: lognormal:MEAN:CV with a mean from 1 to 10000000 and "
                "a coefficient of variation from 0 to 100"};
    }
    const std::string nearest = rdma::NearestName(parts[0], {"uniform", "lognormal"});
    return {std::nullopt, kLengths, nearest == parts[0] ? "" : nearest};
}

std::string
LengthText(const serving::LengthSpec& length)
{
    switch (length.kind)
    {
    case serving::LengthSpec::Kind::kUniform:
        return Format("uniform:%.0f-%.0f", length.first, length.second);
    case serving::LengthSpec::Kind::kLognormal:
        return Format("lognormal:%.6g:%.6g", length.first, length.second);
    default:
        return Format("%.0f", length.first);
    }
}

Worded<serving::RequestsSpec>
ParseArrivals(const std::string& text)
{
    using Kind = serving::RequestsSpec::Kind;
    static const std::map<std::string, Kind> kinds = {{"poisson", Kind::kPoisson},
                                                      {"gamma", Kind::kGamma},
                                                      {"constant", Kind::kConstant},
                                                      {"burst", Kind::kBurst},
                                                      {"closed", Kind::kClosed}};
    const auto parts = Split(text, ':');
    serving::RequestsSpec spec;
    spec.kind = kinds.at(parts[0]);
    const std::size_t most = spec.kind == Kind::kGamma ? 3 : 2;
    if (parts.size() > most)
    {
        return {std::nullopt,
                "has too many parts; allowed: poisson:RATE, gamma:RATE:CV, constant:RATE, burst:N "
                "or closed:CLIENTS"};
    }
    const std::string first = parts.size() > 1 ? parts[1] : "";
    if (spec.kind == Kind::kBurst || spec.kind == Kind::kClosed)
    {
        const bool burst = spec.kind == Kind::kBurst;
        const auto number = CountOf(first, kMostClients);
        if (!number && !(burst && first.empty()))
        {
            return {std::nullopt,
                    std::string(burst ? "has no number of requests; allowed: burst:N"
                                      : "has no number of clients; allowed: closed:CLIENTS") +
                        ", from 1 to " + std::to_string(kMostClients)};
        }
        (burst ? spec.count : spec.clients) = number.value_or(0);
        return {spec, ""};
    }
    if (!first.empty())
    {
        const auto rate = NumberOf(first);
        if (!rate || *rate < kLeastRate || *rate > kMostRate)
        {
            return {std::nullopt, RateProblem(first)};
        }
        spec.rate = *rate;
    }
    if (spec.kind == Kind::kGamma)
    {
        const auto cv = parts.size() > 2 ? NumberOf(parts[2]) : std::nullopt;
        if (!cv || *cv < 0.01 || *cv > kMostCv)
        {
            return {std::nullopt,
                    "has no coefficient of variation; allowed: gamma:RATE:CV, from 0.01 to 100; "
                    "poisson has 1"};
        }
        spec.cv = *cv;
    }
    return {spec, ""};
}

Worded<serving::SloSpec>
ParseSlo(const std::vector<std::string>& parts)
{
    serving::SloSpec slo;
    const std::map<std::string, double*> members = {{"ttft", &slo.ttft},
                                                    {"tpot", &slo.tpot},
                                                    {"e2e", &slo.e2e}};
    for (const std::string& part : parts)
    {
        const std::size_t sign = std::min(part.find_first_of(":="), part.size());
        const std::string name = part.substr(0, sign);
        const auto member = members.find(name);
        if (member == members.end())
        {
            return {std::nullopt,
                    "has " + Quoted(name) + "; allowed: ttft, tpot, e2e, as ttft:500ms,tpot:50ms",
                    rdma::NearestName(name, {"ttft", "tpot", "e2e"})};
        }
        const std::string time = part.substr(std::min(sign + 1, part.size()));
        const auto seconds = ParseSpan(time);
        if (!seconds || *seconds <= 0 || *seconds > kLongestObjective)
        {
            const bool bare = NumberOf(time).has_value();
            return {std::nullopt,
                    "has " + Quoted(part) +
                        (bare ? ", which has no unit; allowed: " + name +
                                    ":500ms, or another time "
                                    "with its unit"
                              : "; allowed: " + name + ":500ms, or another time above 0"),
                    bare && NumberOf(time).value() > 0 ? name + ":" + time + "ms" : ""};
        }
        if (*member->second > 0)
        {
            return {std::nullopt, "has " + name + " twice"};
        }
        *member->second = *seconds;
    }
    return {slo, ""};
}

std::string
SloText(const serving::SloSpec& slo)
{
    std::string text;
    for (const auto& [name, seconds] : {std::pair{"TTFT", slo.ttft},
                                        std::pair{"TPOT", slo.tpot},
                                        std::pair{"end to end", slo.e2e}})
    {
        text += seconds > 0 ? (text.empty() ? "" : ", ") + std::string(name) + " at most " +
                                  SpanText(seconds)
                            : "";
    }
    return text;
}

Worded<std::vector<serving::PoolSpec>>
ParseSplit(const std::string& text)
{
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text)
    {
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && depth == 0)
        {
            parts.emplace_back();
        }
        else if (c != ' ')
        {
            parts.back() += c;
        }
    }
    std::map<std::string, serving::PoolSpec> pools;
    for (const std::string& part : parts)
    {
        const PoolWords words = ReadPool(part);
        if (!words.problem.empty())
        {
            return {std::nullopt, words.problem};
        }
        if (!pools.emplace(words.role, words.pool).second)
        {
            return {std::nullopt, "has " + words.role + " twice"};
        }
    }
    for (const char* role : {"prefill", "decode"})
    {
        if (pools.count(role) == 0)
        {
            return {std::nullopt,
                    std::string("has no ") + role +
                        " pool; allowed: prefill:2x(tp=4),decode:2x(tp=2,pp=2)"};
        }
    }
    return {std::vector<serving::PoolSpec>{pools.at("prefill"), pools.at("decode")}, ""};
}

Worded<serving::SpeculationSpec>
ParseSpeculation(const std::string& text)
{
    const std::size_t last = text.rfind(':');
    const std::size_t middle =
        last == std::string::npos || last == 0 ? std::string::npos : text.rfind(':', last - 1);
    if (middle == std::string::npos || middle == 0)
    {
        return {std::nullopt,
                "allowed: DRAFT:K:ACCEPT: the draft model, tokens that it proposes, and the "
                "probability of each; as llama3.2-1b:4:0.7"};
    }
    const std::string count = text.substr(middle + 1, last - middle - 1);
    const auto tokens = CountOf(count, kMostDrafted);
    if (!tokens)
    {
        return {std::nullopt,
                "proposes " + Quoted(count) + " tokens; allowed: 1 to " +
                    std::to_string(kMostDrafted)};
    }
    const std::string share = text.substr(last + 1);
    const Worded<double> accept = ParseShare(share);
    if (!accept.value)
    {
        return {std::nullopt,
                "accepts a token with the probability " + Quoted(share) +
                    "; allowed: 0 to 1, or a percentage"};
    }
    return {serving::SpeculationSpec{text.substr(0, middle), *tokens, *accept.value}, ""};
}

Worded<serving::KvRoom>
ParseKvRoom(const std::string& text)
{
    using Of = serving::KvRoom::Of;
    static const std::map<std::string, Of> kinds = {{"all", Of::kAll},
                                                    {"free", Of::kFree},
                                                    {"static", Of::kStatic}};
    constexpr const char* kAllowed =
        "allowed: all:0.9, free:0.9 or static:0.9, a share above 0, to 1";
    const auto parts = Split(text, ':');
    const auto kind = kinds.find(parts[0]);
    if (kind == kinds.end())
    {
        return {std::nullopt, kAllowed, rdma::NearestName(parts[0], {"all", "free", "static"})};
    }
    const Worded<double> share = ParseShare(parts.size() == 2 ? parts[1] : "");
    if (!share.value || *share.value <= 0)
    {
        return {std::nullopt, kAllowed};
    }
    return {serving::KvRoom{kind->second, *share.value}, ""};
}

Worded<BatchWait>
ParseBatchWait(const std::string& text)
{
    const auto parts = Split(text, ':');
    const auto iterations = CountOf(parts[0], kMostClients);
    const Worded<double> share = parts.size() > 1 ? ParseShare(parts[1]) : Worded<double>{1.0, ""};
    if (!iterations || !share.value || parts.size() > 2)
    {
        return {std::nullopt,
                "allowed: ITERATIONS or ITERATIONS:SHARE, a whole number from 1 on and 0 to 1; as "
                "20:0.9"};
    }
    return {BatchWait{*iterations, *share.value}, ""};
}

Worded<double>
ParseShare(const std::string& text)
{
    const bool percent = !text.empty() && text.back() == '%';
    const auto number = NumberOf(percent ? text.substr(0, text.size() - 1) : text);
    const double share = number.value_or(-1) / (percent ? 100 : 1);
    if (!number || share < 0 || share > 1)
    {
        return {std::nullopt, "allowed: 0 to 1, or a percentage such as 90%"};
    }
    return {share, ""};
}

Worded<std::vector<double>>
ParseSweep(const std::string& text)
{
    const std::size_t dots = text.find("..");
    const std::size_t colon =
        dots == std::string::npos ? std::string::npos : text.find(':', dots + 2);
    const auto from = dots == std::string::npos ? std::nullopt : NumberOf(text.substr(0, dots));
    const auto to = dots == std::string::npos
                        ? std::nullopt
                        : NumberOf(text.substr(dots + 2,
                                               colon == std::string::npos ? std::string::npos
                                                                          : colon - dots - 2));
    const auto count = colon == std::string::npos ? std::optional(kUsualRates)
                                                  : CountOf(text.substr(colon + 1), kMostRates);
    if (from && to && count && *from == *to && *count == 1 && *from >= kLeastRate &&
        *to <= kMostRate)
    {
        return {std::vector<double>{*from}, ""}; // a run of a sweep, on another machine
    }
    if (!from || !to || !count || *count < 2 || *from < kLeastRate || *to > kMostRate ||
        *from >= *to)
    {
        return {
            std::nullopt,
            "allowed: A..B or A..B:N, rates above 0 with A below B, and N rates from 2 to 1000; "
            "as 1..16:5"};
    }
    std::vector<double> rates;
    for (uint32_t i = 0; i < *count; ++i)
    {
        rates.push_back(*from + (*to - *from) * i / (*count - 1));
    }
    return {rates, ""};
}

} // namespace scenario
