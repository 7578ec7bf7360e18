// Positions inside regions: `geoWithin`, and regions as arguments of `filter`.

import Foundation
import RealmSwift
import Testing

class Position: EmbeddedObject {
  @Persisted var type: String = "Point"
  @Persisted var coordinates: List<Double>

  convenience init(latitude: Double, longitude: Double) {
    self.init()
    coordinates.append(objectsIn: [longitude, latitude])
  }
}

class City: Object {
  @Persisted(primaryKey: true) var name: String
  @Persisted var position: Position?
}

@Suite struct GeospatialTests {
  private let folder: RealmFolder
  private let realm: Realm

  init() throws {
    folder = try RealmFolder()
    realm = try Realm(configuration: folder.configuration(City.self, Position.self))
    let cities = [
      ("Copenhagen", 55.6761, 12.5683), ("Roskilde", 55.6415, 12.0803), ("New York", 40.7128, -74.006),
      ("Sydney", -33.8688, 151.2093),
    ]
    try realm.write {
      for (name, latitude, longitude) in cities {
        let position = Position(latitude: latitude, longitude: longitude)
        realm.create(City.self, value: ["name": name, "position": position])
      }
      realm.create(City.self, value: ["name": "Atlantis"])
    }
  }

  /// The names of the cities inside a region, which `where` and two forms of `filter` must agree on.
  private func inside(_ region: some RLMGeospatial) -> [String] {
    let cities = realm.objects(City.self).sorted(byKeyPath: "name")
    let found = Array(cities.where { $0.position.geoWithin(region) }.map(\.name))
    #expect(Array(cities.filter("position IN %@", region).map(\.name)) == found)
    #expect(Array(cities.filter("name != %@ AND position GEOWITHIN %@", "", region).map(\.name)) == found)
    return found
  }

  @Test("boxes, polygons and circles match the positions inside them")
  func regions() throws {
    #expect(inside(try #require(GeoBox(bottomLeft: (55, 12.1), topRight: (56, 13)))) == ["Copenhagen"])
    let home = try #require(GeoPoint(latitude: 55.6761, longitude: 12.5683))
    for (kilometers, names) in [(10.0, ["Copenhagen"]), (40, ["Copenhagen", "Roskilde"])] {
      #expect(inside(GeoCircle(center: home, radius: try #require(.kilometers(kilometers)))) == names)
    }
    #expect(inside(try #require(GeoCircle(center: (-33.8688, 151.2093), radiusInRadians: 1e-7))) == ["Sydney"])
    let outer = [(50.0, 10.0), (50, 15), (60, 15), (60, 10), (50, 10)]
    let hole = [(55.6, 12.0), (55.6, 12.2), (55.7, 12.2), (55.7, 12.0), (55.6, 12.0)]
    #expect(inside(try #require(GeoPolygon(outerRing: outer))) == ["Copenhagen", "Roskilde"])
    #expect(inside(try #require(GeoPolygon(outerRing: outer, holes: [hole]))) == ["Copenhagen"])
    let region = try #require(GeoPolygon(outerRing: outer))
    #expect(realm.objects(City.self).where { !$0.position.geoWithin(region) && $0.name != "Sydney" }.count == 2)
  }

  @Test("an object of another GeoJSON type is not inside a region")
  func otherType() throws {
    let world = try #require(GeoCircle(center: (0, 0), radiusInRadians: 10))
    #expect(inside(world).count == 4)
    try realm.write {
      realm.object(ofType: City.self, forPrimaryKey: "Sydney")?.position?.type = "Polygon"
    }
    #expect(inside(world) == ["Copenhagen", "New York", "Roskilde"])
  }

  @Test("regions with values out of range cannot be created")
  func limits() throws {
    for (latitude, longitude) in [(90.1, 0), (0, 180.1), (.nan, 0), (0, .nan)] as [(Double, Double)] {
      #expect(GeoPoint(latitude: latitude, longitude: longitude) == nil)
      #expect(GeoBox(bottomLeft: (latitude, longitude), topRight: (1, 1)) == nil)
      #expect(GeoCircle(center: (latitude, longitude), radiusInRadians: 1) == nil)
      let points = [(0, 0), (0, 1), (latitude, longitude), (0, 0)]
      #expect(GeoPolygon(outerRing: points) == nil)
    }
    #expect(GeoPoint(latitude: 90, longitude: -180, altitude: 8848) != nil)
    #expect(GeoPoint(latitude: 0, longitude: 0, altitude: -1) == nil)
    let triangle = [(0.0, 0.0), (1, 1), (2, 0), (0, 0)]
    #expect(GeoPolygon(outerRing: triangle.dropLast()) == nil)
    #expect(GeoPolygon(outerRing: triangle, holes: [(0, 0), (1, 1), (0, 0)]) == nil)
    #expect(GeoPolygon(outerRing: triangle, holes: triangle, triangle) != nil)
    for make in [Distance.kilometers, Distance.miles, Distance.degrees, Distance.radians] {
      #expect(make(0) != nil && make(-1) == nil && make(.nan) == nil && make(3) == make(3))
    }
  }

  @Test("distances convert between units")
  func distances() throws {
    let quarter = try #require(Distance.degrees(90))
    #expect(abs(quarter.radians - .pi / 2) < 1e-12 && abs(quarter.asDegrees() - 90) < 1e-9)
    #expect(abs(quarter.asKilometers() - 10_018.7) < 0.1 && abs(quarter.asMiles() - 6_225.3) < 0.1)
    #expect(try abs(#require(Distance.miles(1)).asKilometers() - 1.609344) < 1e-9)
  }
}
