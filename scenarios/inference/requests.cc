/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/requests.h"

#include "scenarios/traffic/normal.h"
#include "scenarios/traffic/portable-math.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cmath>

namespace serving
{

namespace
{

constexpr double kPs = 1e12; ///< a second

constexpr uint64_t kArrivalStream = scenario::kRequestStream;
constexpr uint64_t kPromptStream = scenario::kRequestStream + 1;
constexpr uint64_t kOutputStream = scenario::kRequestStream + 2;

/// Gamma distributed numbers: Marsaglia and Tsang, A simple method for generating gamma variables,
/// ACM TOMS 26 (2000); for shapes below 1 its section 6.
class Gamma
{
  public:
    Gamma(double shape, uint64_t seed)
        : m_shape(shape),
          m_normal(seed)
    {
    }

    /// Of mean 1.
    double Draw()
    {
        if (m_shape >= 1)
        {
            return Above1(m_shape) / m_shape;
        }
        const double larger = Above1(m_shape + 1);
        return larger * scenario::PortableExp(std::max(-600.0, Log() / m_shape)) / m_shape;
    }

  private:
    /// Of a uniform number.
    double Log()
    {
        return scenario::PortableLog(std::max(m_normal.Uniform(), 0x1p-53));
    }

    double Above1(double shape)
    {
        const double d = shape - 1.0 / 3;
        const double c = 1 / std::sqrt(9 * d);
        for (;;)
        {
            const double x = m_normal.Draw();
            const double root = 1 + c * x;
            const double v = root * root * root;
            if (v > 0 && Log() < x * x / 2 + d - d * v + d * scenario::PortableLog(v))
            {
                return d * v;
            }
        }
    }

    double m_shape;
    scenario::Normal m_normal;
};

/// Times between arrivals, ps.
class Gaps
{
  public:
    explicit Gaps(const RequestsSpec& spec)
        : m_gamma(spec.kind == RequestsSpec::Kind::kGamma),
          m_mean(kPs / spec.rate),
          m_random(spec.seed, kArrivalStream),
          m_draws(m_gamma ? 1 / (spec.cv * spec.cv) : 1,
                  scenario::SeedOf(spec.seed, kArrivalStream))
    {
    }

    double Draw()
    {
        constexpr double kUnit = 0x1p40; // of exponential draws
        return m_mean *
               (m_gamma ? m_draws.Draw()
                        : static_cast<double>(m_random.Exponential(uint64_t{1} << 40)) / kUnit);
    }

  private:
    bool m_gamma;
    double m_mean;
    scenario::Random m_random;
    Gamma m_draws;
};

/// Lengths, one after another.
class Lengths
{
  public:
    Lengths(const LengthSpec& spec, uint64_t seed, uint64_t stream)
        : m_spec(spec),
          m_random(seed, stream),
          m_normal(scenario::SeedOf(seed, stream))
    {
        const double variance = scenario::PortableLog(1 + spec.second * spec.second);
        m_sigma = std::sqrt(variance);
        m_mu = scenario::PortableLog(std::max(spec.first, 1e-9)) - variance / 2;
    }

    uint32_t Draw()
    {
        double tokens = m_spec.first;
        if (m_spec.kind == LengthSpec::Kind::kUniform)
        {
            const auto width = static_cast<uint64_t>(m_spec.second - m_spec.first) + 1;
            tokens += static_cast<double>(m_random.Below(width));
        }
        else if (m_spec.kind == LengthSpec::Kind::kLognormal)
        {
            tokens = scenario::PortableExp(m_mu + m_sigma * m_normal.Draw());
        }
        return static_cast<uint32_t>(
            std::clamp(std::floor(tokens + 0.5), 1.0, static_cast<double>(kMostTokens)));
    }

  private:
    LengthSpec m_spec;
    scenario::Random m_random;
    scenario::Normal m_normal;
    double m_mu = 0;
    double m_sigma = 0;
};

/// The requests of a file: with a rate its arrivals are stretched to it, or drawn where it has
/// none; lengths that were asked for take the place of its own.
std::vector<Request>
OfFile(const RequestsSpec& spec)
{
    std::vector<Request> requests = *spec.traced;
    if (spec.count > 0 && spec.count < requests.size())
    {
        requests.resize(spec.count);
    }
    return requests;
}

void
SetArrivals(const RequestsSpec& spec, std::vector<Request>* requests)
{
    using Kind = RequestsSpec::Kind;
    if (spec.kind == Kind::kBurst)
    {
        return;
    }
    if (spec.kind == Kind::kClosed)
    {
        for (std::size_t i = spec.clients; i < requests->size(); ++i)
        {
            (*requests)[i].arrival = -1;
        }
        return;
    }
    const bool traced = spec.kind == Kind::kFile && !requests->empty();
    if (traced && requests->front().arrival >= 0)
    {
        // From the first to the last there are n - 1 gaps.
        const double span =
            static_cast<double>(requests->back().arrival - requests->front().arrival);
        const double factor =
            spec.rate > 0 && span > 0
                ? static_cast<double>(requests->size() - 1) * kPs / (spec.rate * span)
                : 1;
        const int64_t first = requests->front().arrival;
        for (Request& request : *requests)
        {
            const int64_t since = request.arrival - first;
            request.arrival =
                spec.rate > 0 ? std::llround(static_cast<double>(since) * factor) : since;
        }
        return;
    }
    if (spec.kind == Kind::kConstant)
    {
        double number = 0;
        for (Request& request : *requests)
        {
            request.arrival = std::llround(number++ * kPs / spec.rate);
        }
        return;
    }
    Gaps gaps(spec);
    double time = 0;
    for (Request& request : *requests)
    {
        request.arrival = std::llround(time);
        time += gaps.Draw();
    }
}

} // namespace

double
MeanOf(const LengthSpec& length)
{
    return length.kind == LengthSpec::Kind::kUniform ? (length.first + length.second) / 2
                                                     : length.first;
}

std::vector<Request>
MakeRequests(const RequestsSpec& spec)
{
    const bool traced = spec.kind == RequestsSpec::Kind::kFile;
    std::vector<Request> requests = traced ? OfFile(spec) : std::vector<Request>(spec.count);
    Lengths prompts(spec.prompt, spec.seed, kPromptStream);
    Lengths outputs(spec.output, spec.seed, kOutputStream);
    for (Request& request : requests)
    {
        // A length of 0: the file's.
        request.prompt = traced && spec.prompt.first == 0 ? request.prompt : prompts.Draw();
        request.output = traced && spec.output.first == 0 ? request.output : outputs.Draw();
    }
    SetArrivals(spec, &requests);
    return requests;
}

} // namespace serving
