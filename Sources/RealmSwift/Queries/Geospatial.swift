// Regions on the earth for `geoWithin`: boxes, polygons and circles.

import Foundation
import RealmQuery

/// A region for `geoWithin`: a ``GeoBox``, a ``GeoPolygon`` or a ``GeoCircle``.
public protocol RLMGeospatial: Hashable, Sendable {
  /// The region as the query language has it.
  var _rlmShape: _GeoShape { get }
}

/// A region as the query language has it.
public struct _GeoShape {
  let shape: GeoShape

  /// The region in the syntax of the query language.
  var text: String {
    func point(_ point: GeoPosition) -> String { "[\(point.longitude), \(point.latitude)]" }
    switch shape {
    case .box(let a, let b): return "geoBox(\(point(a)), \(point(b)))"
    case .circle(let center, let radius): return "geoCircle(\(point(center)), \(radius))"
    case .polygon(let rings):
      return "geoPolygon(\(rings.map { "{\($0.map(point).joined(separator: ", "))}" }.joined(separator: ", ")))"
    }
  }
}

/// A position in degrees, for the corners and centers of regions.
///
/// A stored position is an embedded object with the properties of a GeoJSON point: a string `type`, which is `Point`,
/// and a list of doubles `coordinates`, the longitude first.
public struct GeoPoint: Hashable, Sendable {
  /// The latitude, -90 to 90 degrees.
  public let latitude: Double
  /// The longitude, -180 to 180 degrees.
  public let longitude: Double
  /// The altitude, at least 0. Queries ignore it.
  public let altitude: Double

  /// Creates a point. Returns nil if a value is out of range or NaN.
  public init?(latitude: Double, longitude: Double, altitude: Double = 0) {
    guard abs(latitude) <= 90, abs(longitude) <= 180, altitude >= 0 else { return nil }
    (self.latitude, self.longitude, self.altitude) = (latitude, longitude, altitude)
  }

  fileprivate init?(_ degrees: (Double, Double)) { self.init(latitude: degrees.0, longitude: degrees.1) }

  fileprivate var corner: GeoPosition { .init(longitude: longitude, latitude: latitude) }
}

/// A box with two opposite corners. Its edges are geodesics.
public struct GeoBox: RLMGeospatial {
  /// The corner in the southwest.
  public let bottomLeft: GeoPoint
  /// The corner in the northeast.
  public let topRight: GeoPoint

  /// Creates a box.
  public init(bottomLeft: GeoPoint, topRight: GeoPoint) { (self.bottomLeft, self.topRight) = (bottomLeft, topRight) }

  /// Creates a box from the latitude and longitude of each corner. Returns nil if a value is out of range.
  public init?(bottomLeft: (Double, Double), topRight: (Double, Double)) {
    guard let bottomLeft = GeoPoint(bottomLeft), let topRight = GeoPoint(topRight) else { return nil }
    self.init(bottomLeft: bottomLeft, topRight: topRight)
  }

  /// The region as the query language has it.
  public var _rlmShape: _GeoShape { _GeoShape(shape: .box(bottomLeft.corner, topRight.corner)) }
}

/// A polygon with holes. Its edges are geodesics.
///
/// Each ring has at least four points, of which the last equals the first. A query fails if edges cross, if a hole is
/// not inside the outer ring, or if it is inside another hole.
public struct GeoPolygon: RLMGeospatial {
  /// The outer ring.
  public let outerRing: [GeoPoint]
  /// The holes.
  public let holes: [[GeoPoint]]

  /// Creates a polygon. Returns nil if a ring has less than four points or is not closed.
  public init?(outerRing: [GeoPoint], holes: [[GeoPoint]]) {
    guard ([outerRing] + holes).allSatisfy({ $0.count > 3 && $0.first == $0.last }) else { return nil }
    (self.outerRing, self.holes) = (outerRing, holes)
  }

  /// Creates a polygon. Returns nil if a ring has less than four points or is not closed.
  public init?(outerRing: [GeoPoint], holes: [GeoPoint]...) { self.init(outerRing: outerRing, holes: holes) }

  /// Creates a polygon from the latitudes and longitudes of its points. Returns nil if a value is out of range, or if a
  /// ring has less than four points or is not closed.
  public init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]]) {
    var rings: [[GeoPoint]] = []
    for ring in [outerRing] + holes {
      let points = ring.compactMap { GeoPoint($0) }
      guard points.count == ring.count else { return nil }
      rings.append(points)
    }
    self.init(outerRing: rings.removeFirst(), holes: rings)
  }

  /// Creates a polygon from the latitudes and longitudes of its points. Returns nil if a value is out of range, or if a
  /// ring has less than four points or is not closed.
  public init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...) {
    self.init(outerRing: outerRing, holes: holes)
  }

  /// The region as the query language has it.
  public var _rlmShape: _GeoShape {
    _GeoShape(shape: .polygon(([outerRing] + holes).map { $0.map(\.corner) }))
  }
}

/// A distance on the surface of the earth, whose radius is taken to be 6,378.1 km.
public struct Distance: Hashable, Sendable {
  /// The distance as an angle at the center of the earth.
  public let radians: Double

  private static let radiusInMeters = 6_378_100.0
  private static let metersPerMile = 1609.344

  private init?(_ radians: Double) {
    guard radians >= 0 else { return nil }
    self.radians = radians
  }

  /// Returns a distance in kilometers, or nil if it is negative or NaN.
  public static func kilometers(_ kilometers: Double) -> Distance? { Distance(kilometers * 1000 / radiusInMeters) }
  /// Returns a distance in miles, or nil if it is negative or NaN.
  public static func miles(_ miles: Double) -> Distance? { Distance(miles * metersPerMile / radiusInMeters) }
  /// Returns a distance in degrees, or nil if it is negative or NaN.
  public static func degrees(_ degrees: Double) -> Distance? { Distance(degrees * .pi / 180) }
  /// Returns a distance in radians, or nil if it is negative or NaN.
  public static func radians(_ radians: Double) -> Distance? { Distance(radians) }

  /// Returns the distance in kilometers.
  public func asKilometers() -> Double { radians * Self.radiusInMeters / 1000 }
  /// Returns the distance in miles.
  public func asMiles() -> Double { radians * Self.radiusInMeters / Self.metersPerMile }
  /// Returns the distance in degrees.
  public func asDegrees() -> Double { radians * 180 / .pi }
}

/// A circle.
public struct GeoCircle: RLMGeospatial {
  /// The center.
  public let center: GeoPoint
  /// The radius as an angle at the center of the earth.
  public let radians: Double

  /// Creates a circle. Returns nil if the radius is negative or NaN.
  public init?(center: GeoPoint, radiusInRadians: Double) {
    guard radiusInRadians >= 0 else { return nil }
    (self.center, radians) = (center, radiusInRadians)
  }

  /// Creates a circle.
  public init(center: GeoPoint, radius: Distance) { (self.center, radians) = (center, radius.radians) }

  /// Creates a circle from the latitude and longitude of its center. Returns nil if a value is out of range.
  public init?(center: (Double, Double), radiusInRadians: Double) {
    guard let center = GeoPoint(center) else { return nil }
    self.init(center: center, radiusInRadians: radiusInRadians)
  }

  /// Creates a circle from the latitude and longitude of its center. Returns nil if a value is out of range.
  public init?(center: (Double, Double), radius: Distance) {
    guard let center = GeoPoint(center) else { return nil }
    self.init(center: center, radius: radius)
  }

  /// The region as the query language has it.
  public var _rlmShape: _GeoShape { _GeoShape(shape: .circle(center.corner, radius: radians)) }
}

extension Query where T: OptionalProtocol, T.Wrapped: EmbeddedObject {
  /// Matches if the position in the embedded object is inside the region.
  public func geoWithin<U: RLMGeospatial>(_ value: U) -> Query<Bool> {
    Query<Bool>(.within(node, value._rlmShape.shape))
  }
}
