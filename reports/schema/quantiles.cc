/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/schema/quantiles.h"

namespace reports
{

Quantiles
QuantilesOf(const QuantileSketch& sketch, double unit)
{
    return {sketch.Quantile(0.5) / unit,
            sketch.Quantile(0.9) / unit,
            sketch.Quantile(0.99) / unit,
            sketch.Quantile(0.999) / unit,
            sketch.Max() / unit,
            sketch.Mean() / unit,
            sketch.Count()};
}

namespace
{

const Object<Quantiles>&
QuantileKeys()
{
    static const Object<Quantiles> keys("Quantiles",
                                        {{"p50 (=): 50% are at most this", &Quantiles::p50},
                                         {"p90 (=): 90% are at most this", &Quantiles::p90},
                                         {"p99 (=): 99% are at most this", &Quantiles::p99},
                                         {"p999 (=): 99.9% are at most this", &Quantiles::p999},
                                         {"max (=): The largest", &Quantiles::max},
                                         {"mean (=): Mean", &Quantiles::mean}});
    return keys;
}

} // namespace

const Shape&
QuantileWords()
{
    return QuantileKeys();
}

nlohmann::ordered_json
ToJson(const Quantiles& quantiles)
{
    return quantiles.values ? QuantileKeys().ToJson(quantiles) : Json();
}

} // namespace reports
