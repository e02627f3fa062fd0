/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/requests-options.h"

#include "scenarios/asked/serving.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/requests/request-trace.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/inference/requests.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/options/format.h"
#include "scenarios/training/options/training-inputs.h"
#include "topologies/names.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace scenario
{

namespace
{

using RequestKind = serving::RequestsSpec::Kind;

// Assumed: a question with some context, and an answer of a paragraph or two.
constexpr uint32_t kUsualPrompt = 1024;
constexpr uint32_t kUsualOutput = 256;
constexpr const char* kUsualCount = "1000";
constexpr double kUsualRate = 1;

/// A clock of ps is safe so long.
constexpr double kLongestRun = 1e6;

class RequestsReader
{
  public:
    RequestsReader(Validation* v, TokenUse use, ServingScenario* s)
        : m_v(*v),
          m_use(use),
          m_s(*s),
          m_spec(s->serving.requests)
    {
    }

    void Read()
    {
        m_spec.seed = DrawSeed(m_v);
        m_s.serving.warmupRequests = m_v.values.Get(&asked::Serving::warmupRequests);
        ReadKind();
        const bool byRate =
            m_spec.kind != RequestKind::kBurst && m_spec.kind != RequestKind::kClosed;
        m_v.Settle(when::ByRate(), byRate);
        if (m_s.plain)
        {
            ReadBatch();
        }
        else
        {
            ReadLengths();
        }
        ReadObjectives();
        if (byRate)
        {
            ReadRate();
        }
        ReadCount();
        CheckLength();
    }

  private:
    bool Given(Member option) const
    {
        return m_v.values.Given(option);
    }

    void ReadKind()
    {
        const Values& values = m_v.values;
        const Option& option = *m_v.table.Find(&asked::Serving::requests);
        if (!Given(&asked::Serving::requests))
        {
            const bool rate = Given(&asked::Serving::rate) || Given(&asked::Serving::sweepRate) ||
                              Given(&asked::Serving::findRate);
            m_spec.kind = m_s.plain && !rate ? RequestKind::kClosed : RequestKind::kPoisson;
            m_spec.clients = m_spec.kind == RequestKind::kClosed ? 1 : 0;
        }
        else if (!NameMeant(option, values.Get(&asked::Serving::requests)).empty())
        {
            auto words = ParseArrivals(values.Get(&asked::Serving::requests));
            if (!words.value)
            {
                m_v.Fail(&asked::Serving::requests, words.problem);
                words.value = serving::RequestsSpec();
                words.value->rate = kUsualRate;
            }
            const uint64_t seed = m_spec.seed;
            m_spec = *words.value;
            m_spec.seed = seed;
        }
        else
        {
            m_spec.kind = RequestKind::kFile;
            m_spec.file = values.Get(&asked::Serving::requests);
            ReadTrace();
        }
        if (m_spec.kind != RequestKind::kFile && Given(&asked::Serving::requestsWhere))
        {
            m_v.Fail(&asked::Serving::requestsWhere, "needs --requests=FILE, a file of requests");
        }
    }

    formats::RequestFilter Filter()
    {
        formats::RequestFilter filter;
        for (const std::string& part : m_v.values.Get(&asked::Serving::requestsWhere))
        {
            const std::size_t equals = part.find('=');
            if (equals == 0 || equals == std::string::npos)
            {
                m_v.Fail(&asked::Serving::requestsWhere,
                         "has '" + rdma::Shown(part, 60) + "'; allowed: COLUMN=VALUE");
                continue;
            }
            filter.emplace_back(part.substr(0, equals), part.substr(equals + 1));
        }
        return filter;
    }

    void ReadTrace()
    {
        if (m_s.plain)
        {
            m_v.Fail(&asked::Serving::requests,
                     m_s.model.name + " reads no tokens, of which a file of requests tells; "
                                      "allowed: kinds of arrivals, such as poisson:8");
            return;
        }
        std::vector<topo::Error> errors;
        const formats::RequestFilter filter = Filter();
        auto trace = formats::ReadRequestTrace(m_spec.file, filter, errors);
        if (!trace && !formats::IsFile(m_spec.file))
        {
            m_v.FailFile(&asked::Serving::requests, errors);
            return;
        }
        for (const topo::Error& error : errors)
        {
            m_v.errors.push_back({"", "", error.Sentence(), ""});
        }
        if (!trace)
        {
            return;
        }
        if (!trace->hasArrivals && !Given(&asked::Serving::rate) &&
            !Given(&asked::Serving::sweepRate) && !Given(&asked::Serving::findRate))
        {
            m_v.Fail(&asked::Serving::requests,
                     "has no arrival times; allowed: with --rate, requests a second");
        }
        if (!trace->note.empty())
        {
            m_v.notes.push_back(trace->note);
        }
        if (trace->left > 0)
        {
            m_v.notes.push_back("--requests: " + topo::Counted(trace->left, "request") +
                                " without tokens in or out left out");
        }
        if (trace->estimated)
        {
            m_v.notes.push_back("--requests: tokens are estimated, " +
                                Format("%g", formats::kCharactersOfToken) +
                                " characters a token; a file with token counts is exact");
        }
        if (trace->prefixShare > 0 && !Given(&asked::Serving::prefixCache))
        {
            m_v.notes.push_back(
                Format("--requests: %.3g of the prompts' tokens are in blocks of earlier requests; "
                       "--prefix-cache=%.3g takes them from the cache",
                       trace->prefixShare,
                       trace->prefixShare));
        }
        m_spec.traced =
            std::make_shared<const std::vector<serving::Request>>(std::move(trace->requests));
    }

    void ReadBatch()
    {
        m_v.DecideUnlessGiven(&asked::Serving::batch, 1);
        m_s.batch = m_v.values.Get(&asked::Serving::batch);
        using Length = serving::LengthSpec;
        m_spec.prompt = {Length::Kind::kFixed, static_cast<double>(m_s.batch), 0};
        m_spec.output = {Length::Kind::kFixed, 1, 0};
    }

    void ReadLength(std::optional<std::string> asked::Serving::*option,
                    uint32_t usual,
                    serving::LengthSpec* length)
    {
        if (m_spec.kind == RequestKind::kFile && !Given(option))
        {
            *length = {serving::LengthSpec::Kind::kFixed, 0, 0}; // the file's
            return;
        }
        m_v.DecideUnlessGiven(option, std::to_string(std::max(1u, usual)));
        const auto words = ParseLength(m_v.values.Get(option));
        if (!words.value)
        {
            m_v.Fail(option, words.problem, words.nearest);
        }
        *length =
            words.value.value_or(serving::LengthSpec{serving::LengthSpec::Kind::kFixed, 1, 0});
    }

    void ReadLengths()
    {
        // No longer together than what the model was made for.
        const uint32_t sequence = m_s.model.sequence;
        const uint32_t output =
            m_use == TokenUse::kEncoder ? 0 : std::min(kUsualOutput, sequence / 2);
        ReadLength(&asked::Serving::prompt,
                   std::min(kUsualPrompt, sequence - output),
                   &m_spec.prompt);
        if (m_use == TokenUse::kEncoder)
        {
            if (Given(&asked::Serving::output))
            {
                m_v.Fail(&asked::Serving::output,
                         m_s.model.name + " is an encoder, which writes no tokens; allowed: "
                                          "without it");
            }
            m_spec.output = {serving::LengthSpec::Kind::kFixed, 1, 0};
            return;
        }
        ReadLength(&asked::Serving::output, output, &m_spec.output);
    }

    void ReadObjectives()
    {
        const Values& values = m_v.values;
        m_v.Settle(&asked::Serving::slo);
        m_v.Settle(&asked::Serving::findRate);
        if (Given(&asked::Serving::slo))
        {
            const auto words = ParseSlo(values.Get(&asked::Serving::slo));
            if (!words.value)
            {
                m_v.Fail(&asked::Serving::slo, words.problem, words.nearest);
            }
            m_s.serving.slo = words.value.value_or(serving::SloSpec());
        }
        if (Given(&asked::Serving::findRate))
        {
            const auto words = ParseShare(values.Get(&asked::Serving::findRate));
            if (!words.value || *words.value <= 0)
            {
                m_v.Fail(&asked::Serving::findRate,
                         words.value ? "allowed: above 0, as 90%" : words.problem);
            }
            m_s.findRate = words.value;
        }
        if (Given(&asked::Serving::sweepRate))
        {
            auto words = ParseSweep(values.Get(&asked::Serving::sweepRate));
            if (!words.value)
            {
                m_v.Fail(&asked::Serving::sweepRate, words.problem);
            }
            m_s.rates = words.value.value_or(std::vector<double>());
        }
    }

    /// With --find-rate the rate is the first that is tried.
    void ReadRate()
    {
        const bool tried = m_s.findRate || !m_s.rates.empty();
        if (Given(&asked::Serving::rate))
        {
            if (m_spec.rate > 0)
            {
                m_v.Fail(&asked::Serving::rate,
                         m_v.values.Where(&asked::Serving::requests) + "=" +
                             m_v.values.Raw(&asked::Serving::requests) +
                             " says it, too; allowed: one of both");
            }
            if (!m_s.rates.empty())
            {
                m_v.Fail(&asked::Serving::rate,
                         "--sweep-rate tries rates of its own; allowed: one of both");
            }
            m_spec.rate = m_v.values.Get(&asked::Serving::rate);
        }
        else if (m_spec.rate > 0 && !m_s.rates.empty())
        {
            m_v.Fail(&asked::Serving::requests,
                     "has a rate, and --sweep-rate tries others; allowed: without its number");
        }
        else if (m_spec.rate == 0 && (m_spec.kind != RequestKind::kFile || tried))
        {
            m_spec.rate = m_s.rates.empty() ? kUsualRate : m_s.rates.front();
            if (!tried)
            {
                m_v.Decide(&asked::Serving::rate, m_spec.rate);
            }
        }
    }

    void ReadCount()
    {
        const bool passes = m_s.plain && Given(&asked::Serving::passes);
        if (passes && Given(&asked::Serving::count))
        {
            m_v.Fail(&asked::Serving::count, "--passes says the same; allowed: one of both");
        }
        if (m_spec.kind == RequestKind::kFile)
        {
            const uint64_t all = m_spec.traced ? m_spec.traced->size() : 0;
            m_spec.count = Given(&asked::Serving::count) ? m_v.values.Get(&asked::Serving::count)
                                                         : static_cast<uint32_t>(all);
            if (all > 0 && m_spec.count > all)
            {
                m_v.Fail(&asked::Serving::count,
                         "is more than the " + topo::Counted(all, "request") + " of " +
                             rdma::Shown(m_spec.file, 100) + "; allowed: 1 to " +
                             std::to_string(all));
            }
            if (all == 0)
            {
                m_spec.count = 0; // an error says why
            }
        }
        else if (m_spec.kind == RequestKind::kBurst && m_spec.count > 0)
        {
            if (Given(&asked::Serving::count) &&
                m_v.values.Get(&asked::Serving::count) != m_spec.count)
            {
                m_v.Fail(&asked::Serving::count,
                         m_v.values.Where(&asked::Serving::requests) + "=" +
                             m_v.values.Raw(&asked::Serving::requests) +
                             " says another number; allowed: one of both");
            }
        }
        else
        {
            m_v.DecideTextUnlessGiven(&asked::Serving::count,
                                      passes
                                          ? std::to_string(m_v.values.Get(&asked::Serving::passes))
                                          : std::string(kUsualCount));
            m_spec.count = m_v.values.Get(&asked::Serving::count);
        }
        if (m_spec.clients > m_spec.count && m_spec.kind == RequestKind::kClosed)
        {
            m_v.Fail(&asked::Serving::requests,
                     "has more clients than there are requests (--count=" +
                         std::to_string(m_spec.count) +
                         "); allowed: closed:" + std::to_string(m_spec.count) + " at most");
        }
        if (m_spec.count > 0 && m_s.serving.warmupRequests >= m_spec.count)
        {
            m_v.Fail(&asked::Serving::warmupRequests,
                     "leaves none of " + topo::Counted(m_spec.count, "request") +
                         " for statistics; allowed: 0 to " + std::to_string(m_spec.count - 1));
        }
    }

    void CheckLength()
    {
        const bool drawn = m_spec.kind == RequestKind::kPoisson ||
                           m_spec.kind == RequestKind::kGamma ||
                           m_spec.kind == RequestKind::kConstant ||
                           (m_spec.kind == RequestKind::kFile && m_spec.rate > 0);
        if (drawn && m_spec.count / m_spec.rate > kLongestRun)
        {
            m_v.Fail(Given(&asked::Serving::rate)       ? Member(&asked::Serving::rate)
                     : Given(&asked::Serving::requests) ? Member(&asked::Serving::requests)
                                                        : Member(&asked::Serving::count),
                     topo::Counted(m_spec.count, "request") + " take " +
                         Format("%.3g", m_spec.count / m_spec.rate) +
                         " s to arrive; allowed: 1e6 s, by a larger rate or a smaller --count");
            m_spec.count = 0;
            return;
        }
        if (m_s.plain || m_spec.count == 0 || !m_v.errors.empty())
        {
            return;
        }
        uint64_t longer = 0;
        for (const serving::Request& request : serving::MakeRequests(m_spec))
        {
            longer += uint64_t{request.prompt} + request.output > m_s.model.sequence ? 1 : 0;
        }
        if (longer > 0)
        {
            m_v.notes.push_back(topo::Counted(longer, "request") + " of " +
                                std::to_string(m_spec.count) + (longer == 1 ? " has" : " have") +
                                " more tokens than the sequences of " +
                                std::to_string(m_s.model.sequence) + " that " + m_s.model.name +
                                " is trained with here; it may serve longer ones");
        }
    }

    Validation& m_v;
    TokenUse m_use;
    ServingScenario& m_s;
    serving::RequestsSpec& m_spec;
};

} // namespace

void
ReadRequests(Validation* v, TokenUse use, ServingScenario* s)
{
    RequestsReader(v, use, s).Read();
}

} // namespace scenario
